package import HearthJSONTree
import HearthTreeText

/// Children in key order: those after a key, or all, and so many of them at most.
package struct ShallowRange: Hashable, Sendable {
    package var after: Key?
    package var limit: Int?

    package init(after: Key? = nil, limit: Int? = nil) {
        self.after = after
        self.limit = limit
    }
}

extension ShallowRange {
    /// The form `shallow` of these children of a value; a leaf as it is.
    package func text(of value: CanonicalJSON) -> [UInt8] {
        if self == ShallowRange() || value.isLeaf || value.isNull { return JSONOutput.shallow.text(value) }
        var keys = ShallowText()
        for child in value.children {
            if let after, child.key <= after { continue }
            if keys.count == limit { break }
            keys.append(keyText: value.bytes[child.keyText])
        }
        return keys.finish()
    }
}

/// The text of a shallow read.
package struct ShallowText {
    package private(set) var count = 0
    private var text: [UInt8] = []

    package init() {}

    /// `keyText` has its quotes.
    package mutating func append(keyText: some Sequence<UInt8>) {
        text.append(UInt8(ascii: count == 0 ? "{" : ","))
        text.append(contentsOf: keyText)
        text.append(contentsOf: ":true".utf8)
        count += 1
    }

    /// Bytes that were not taken yet.
    package var byteCount: Int { text.count }

    package mutating func takeText() -> [UInt8] {
        defer { text.removeAll(keepingCapacity: true) }
        return text
    }

    /// The rest of the text. Null if there was no key.
    package mutating func finish() -> [UInt8] {
        text.append(contentsOf: (count == 0 ? "null" : "}").utf8)
        return takeText()
    }
}
