import HearthJSONTree
package import HearthSecurityRules
import HearthStorageErrors

/// The tree as rules see it.
extension TreeRows: RuleTree {
    package func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
        try path.withUnsafeBytes { (path) throws(RuleTreeError) in
            do throws(StorageError) {
                let place = try locate(encoded: path)
                let value = place.node.value
                if place.node.state == .packed {
                    let rest = UnsafeRawBufferPointer(rebasing: path[place.used...])
                    return value.range(ofEncoded: rest, in: value.range).map { .text(value, $0) } ?? .nothing
                }
                return try isEmpty(place.node, key: Array(path)) ? .nothing : .spread(priority: value)
            } catch {
                throw RuleTreeError(error)
            }
        }
    }

    package func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        let parent = path.withUnsafeBytes { Path(encoded: Array($0)) }
        var failure: RuleTreeError?
        do throws(StorageError) {
            try forEachChild(of: parent, from: [0], below: [0xFF], .ascending) { (child) throws(StorageError) in
                do throws(RuleTreeError) {
                    return try body(child.segment.span.bytes)
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw RuleTreeError(error)
        }
        if let failure { throw failure }
    }
}

extension RuleTreeError {
    /// Why rows could not be read.
    var storageError: StorageError { reason as? StorageError ?? .damaged("\(reason)") }
}
