package import HearthJSONTree

/// A value that two children of a collection may not share (docs/using/additions.md 2).
package enum UniqueValue {
    /// The encoding (``IndexValue``) of the value at an encoded path, if it can be compared: a string, a number, `true`
    /// or `false`. Nil for no value, and for one with children. Costs a look-up.
    package static func read(_ path: [UInt8], in tree: any RuleTree) throws(RuleTreeError) -> [UInt8]? {
        guard case .text(let json, let range) = try tree.value(at: path.span.bytes) else { return nil }
        var bytes: [UInt8] = []
        IndexValue.append(json, in: range, to: &bytes)
        return isCompared(bytes) ? bytes : nil
    }

    /// Whether the encoding of an index value is one that must be unique.
    package static func isCompared(_ encoding: some Collection<UInt8>) -> Bool {
        encoding.first.map { (0x02...0x05).contains($0) } ?? false
    }
}

extension QueryIndex {
    /// The encoded path of the value that this index compares, of a child at `path`.
    package func comparedPath(ofChildAt path: [UInt8]) -> [UInt8] {
        if case .child(let relative) = self { path + relative.encoded } else { path }
    }
}

/// The value of a child is not unique in its collection.
package struct UniqueConflict: Error, Hashable, Sendable {
    package var collection: Path
    package var index: QueryIndex

    package init(collection: Path, index: QueryIndex) {
        self.collection = collection
        self.index = index
    }

    package var message: String {
        switch index {
        case .child(let path):
            "Another child of \"\(collection)\" has the same value at \"\(String(decoding: path.text, as: UTF8.self))\""
        default: "Another child of \"\(collection)\" has the same value"
        }
    }
}
