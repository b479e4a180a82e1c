package import HearthJSONTree

/// The difference between two values as a merge patch (RFC 7396): members that go are null, objects that change are
/// patched member by member, and anything else is replaced.
extension CanonicalJSON {
    /// The patch that makes `other` of this value. Text that is not canonical, since it may hold nulls.
    ///
    /// Neither may have priorities, which would look like members (``withoutPriorities``). O(bytes) of both.
    package func mergePatch(to other: CanonicalJSON) -> [UInt8] {
        var out: [UInt8] = []
        MergePatch(before: self, after: other).append(range, other.range, to: &out)
        return out
    }

    /// The same value in which no node has a priority. O(bytes).
    package var withoutPriorities: CanonicalJSON {
        guard hasPriorities else { return self }
        var out: [UInt8] = []
        appendWithoutPriorities(range, to: &out)
        return CanonicalJSON(trusted: out)
    }

    private var hasPriorities: Bool {
        bytes.withUnsafeBytes { text in
            // Within a string, the quote would be escaped.
            (0..<max(0, text.count - 2)).contains {
                text[$0] == UInt8(ascii: "{") && text[$0 + 1] == UInt8(ascii: "\"") && text[$0 + 2] == UInt8(ascii: ".")
            }
        }
    }

    private func appendWithoutPriorities(_ range: Range<Int>, to out: inout [UInt8]) {
        let shape = bytes.withUnsafeBytes { CanonicalShape($0, range) }
        guard shape.kind == .inner else { return out.append(contentsOf: bytes[shape.content]) }
        out.append(UInt8(ascii: "{"))
        for (index, child) in children(in: range).enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            out.append(contentsOf: bytes[child.keyText])
            out.append(UInt8(ascii: ":"))
            appendWithoutPriorities(child.value, to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }
}

private struct MergePatch {
    let before: CanonicalJSON
    let after: CanonicalJSON

    func append(_ old: Range<Int>, _ new: Range<Int>, to out: inout [UInt8]) {
        var removed = before.children(in: old)
        var kept = after.children(in: new)
        guard var first = removed.next().map(Optional.some), var second = kept.next().map(Optional.some) else {
            return out.append(contentsOf: after.bytes[new])
        }
        out.append(UInt8(ascii: "{"))
        let start = out.count
        func begin(_ value: CanonicalJSON, _ child: CanonicalJSON.Child, _ out: inout [UInt8]) {
            if out.count > start { out.append(UInt8(ascii: ",")) }
            out.append(contentsOf: value.bytes[child.keyText])
            out.append(UInt8(ascii: ":"))
        }
        // Both are in key order.
        while first != nil || second != nil {
            let order = Self.order(first, second)
            if order < 0, let gone = first {
                begin(before, gone, &out)
                out.append(contentsOf: "null".utf8)
            } else if order > 0, let new = second {
                begin(after, new, &out)
                out.append(contentsOf: after.bytes[new.value])
            } else if let old = first, let new = second,
                before.bytes[old.value] != after.bytes[new.value]
            {
                begin(after, new, &out)
                append(old.value, new.value, to: &out)
            }
            if order <= 0 { first = removed.next() }
            if order >= 0 { second = kept.next() }
        }
        out.append(UInt8(ascii: "}"))
    }

    /// Negative if the first child comes first, or alone.
    private static func order(_ a: CanonicalJSON.Child?, _ b: CanonicalJSON.Child?) -> Int {
        guard let a else { return 1 }
        guard let b else { return -1 }
        var (first, second): ([UInt8], [UInt8]) = ([], [])
        a.appendSegment(to: &first)
        b.appendSegment(to: &second)
        return first == second ? 0 : first.precedesBytewise(second) ? -1 : 1
    }
}
