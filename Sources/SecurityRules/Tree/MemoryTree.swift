package import HearthJSONTree

/// A tree that is one value in memory: for tests of rules, and for tools that work without a server.
package final class MemoryTree: RuleTree {
    package let json: CanonicalJSON

    package init(_ json: CanonicalJSON) { self.json = json }

    package func value(at path: RawSpan) -> RuleTreeValue {
        path.withUnsafeBytes { path in
            json.range(ofEncoded: path, in: json.range).map { .text(json, $0) } ?? .nothing
        }
    }

    /// Nothing here is spread.
    package func forEachChild(of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool) {}
}
