import HearthJSONTree
import HearthSecurityRules

/// The rows in memory, as rules see them. A place that the store would have to be asked for is an error, and so is a
/// large value, which rules may look through.
final class KnownRows: RuleTree {
    private enum Failure: Error { case unknown, large }
    private static let valueBytesMax = 16 << 10

    private let rows: TreeRows

    init(_ rows: TreeRows) { self.rows = rows }

    func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
        try path.withUnsafeBytes { (path) throws(RuleTreeError) in
            let place = rows.known(path)
            let value = place.node.value
            switch place.node.state {
            case .packed:
                guard value.bytes.count <= Self.valueBytesMax else { throw RuleTreeError(Failure.large) }
                let rest = path.part(place.used..<path.count)
                return value.range(ofEncoded: rest, in: value.range).map { .text(value, $0) } ?? .nothing
            case .spread where place.used == path.count && rows.knownBytes(below: place.node, exceed: 0):
                return .spread(priority: value)
            case .spread, .unknown: throw RuleTreeError(Failure.unknown)
            }
        }
    }

    func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        throw RuleTreeError(Failure.unknown)
    }
}
