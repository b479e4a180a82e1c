import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// The tree as rules see it, without children that have expired.
final class UnexpiredTree: RuleTree {
    private let rows: TreeRows
    private let expired: ExpiredChildren

    init(_ rows: TreeRows, _ expired: ExpiredChildren) { (self.rows, self.expired) = (rows, expired) }

    func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
        let place = path.withUnsafeBytes { Path(encoded: Array($0)) }
        if try hasExpired(atOrAbove: place) { return .nothing }
        switch try rows.value(at: path) {
        case .nothing: return .nothing
        case .text(let json, let range):
            let seen = expired.removed(from: json.part(range), at: place)
            return seen.isNull ? .nothing : .text(seen, seen.range)
        case .spread(let priority):
            guard expired.times(ofChildrenOf: place) != nil else { return .spread(priority: priority) }
            var isEmpty = true
            try forEachChild(of: path) { (_) throws(RuleTreeError) in
                isEmpty = false
                return false
            }
            return isEmpty ? .nothing : .spread(priority: priority)
        }
    }

    /// Children that have expired, and are passed over. Of more, rules see the others as if they were there: a look
    /// must not take long.
    private static let hiddenMax = 1000

    func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        let place = path.withUnsafeBytes { Path(encoded: Array($0)) }
        guard expired.times(ofChildrenOf: place) != nil else { return try rows.forEachChild(of: path, body) }
        var hiddenCount = 0
        try rows.forEachChild(of: path) { (segment) throws(RuleTreeError) in
            let child = Path(encoded: place.encoded + segment.withUnsafeBytes { Array($0) })
            if hiddenCount < Self.hiddenMax, try hasExpired(atOrAbove: child) {
                hiddenCount += 1
                return true
            }
            return try body(segment)
        }
    }

    private func hasExpired(atOrAbove path: Path) throws(RuleTreeError) -> Bool {
        do throws(StorageError) {
            return try !expired.places(atOrAbove: path) { (child, time) throws(StorageError) in
                try rows.hasCome(time, of: child, by: expired.time)
            }.isEmpty
        } catch {
            throw RuleTreeError(error)
        }
    }
}
