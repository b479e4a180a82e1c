import HearthBytes

/// Walking over canonical text. All functions take the whole text and offsets into it, copy nothing, and stay within
/// the text even if it is damaged.
package enum CanonicalScan {
    /// End of the value that starts at `start`.
    package static func valueEnd(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard start < text.count else { return text.count }
        switch text[start] {
        case UInt8(ascii: "\""):
            return stringEnd(text, from: start)
        case UInt8(ascii: "{"):
            var depth = 0
            var offset = start
            while offset < text.count {
                switch text[offset] {
                case UInt8(ascii: "\""):
                    offset = stringEnd(text, from: offset)
                case UInt8(ascii: "{"):
                    depth += 1
                    offset += 1
                case UInt8(ascii: "}"):
                    depth -= 1
                    offset += 1
                    if depth == 0 { return offset }
                default:
                    offset += 1
                }
            }
            return text.count
        default:
            var offset = start
            while offset < text.count, text[offset] != UInt8(ascii: ","), text[offset] != UInt8(ascii: "}") {
                offset += 1
            }
            return offset
        }
    }

    /// End of the string whose opening quote is at `start`, after the closing one.
    @inline(__always)
    package static func stringEnd(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
        var offset = start + 1
        while offset + ByteLanes.count <= text.count {
            let word = ByteLanes.load(text, offset)
            let marks = ByteLanes.equal(word, UInt8(ascii: "\"")) | ByteLanes.equal(word, UInt8(ascii: "\\"))
            if marks == 0 {
                offset += ByteLanes.count
                continue
            }
            offset += ByteLanes.first(marks)
            if text[offset] == UInt8(ascii: "\"") { return offset + 1 }
            offset += 2
        }
        while offset < text.count {
            if text[offset] == UInt8(ascii: "\"") { return offset + 1 }
            offset += text[offset] == UInt8(ascii: "\\") ? 2 : 1
        }
        return text.count
    }

    package static func has(_ prefix: StaticString, _ text: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        let count = prefix.utf8CodeUnitCount
        guard offset + count <= text.count else { return false }
        return equalBytes(
            text.part(offset..<offset + count), UnsafeRawBufferPointer(start: prefix.utf8Start, count: count))
    }
}

/// The item at a position of canonical text.
package struct CanonicalShape {
    package enum Kind: Equatable {
        case nothing
        /// A scalar or a server value.
        case leaf
        case inner
    }

    package var kind: Kind
    /// The priority's own text.
    package var priority: Range<Int>?
    /// Of a leaf: its value without the wrapper. Of an inner node: from its first member to before the closing brace.
    package var content: Range<Int>

    /// `range` is the text of a whole value.
    package init(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) {
        content = range
        kind = .leaf
        guard range.lowerBound < range.upperBound, range.upperBound <= text.count else {
            kind = .nothing
            return
        }
        guard text[range.lowerBound] == UInt8(ascii: "{"), range.count >= 2 else {
            if text[range.lowerBound] == UInt8(ascii: "n") { kind = .nothing }
            return
        }
        var first = range.lowerBound + 1
        let end = range.upperBound - 1
        if first + 1 < end, text[first + 1] == UInt8(ascii: ".") {
            if CanonicalScan.has("\".sv\"", text, at: first) { return }
            let start = min(first + 12, end)  // after ".priority":
            let priorityEnd = min(CanonicalScan.valueEnd(text, from: start), end)
            priority = start..<priorityEnd
            first = min(priorityEnd + 1, end)
            if CanonicalScan.has("\".value\":", text, at: first) {
                content = min(first + 9, end)..<end
                return
            }
        }
        kind = .inner
        content = first..<end
    }
}

/// One member of an inner node, as ranges of the text.
@usableFromInline package struct CanonicalMember {
    /// Between the quotes, escapes and all.
    @usableFromInline package var key: Range<Int>
    @usableFromInline package var keyHasEscapes: Bool
    package var value: Range<Int>

    /// From the opening quote of the key to the end of the value.
    package var all: Range<Int> { key.lowerBound - 1..<value.upperBound }

    /// Reads the member that starts at `start`.
    @inline(__always)
    package init(_ text: UnsafeRawBufferPointer, at start: Int) {
        self.init(keyAt: start, text)
        value = value.lowerBound..<CanonicalScan.valueEnd(text, from: value.lowerBound)
    }

    /// Reads the key of the member that starts at `start`, and nothing of the value.
    @inline(__always)
    package init(keyAt start: Int, _ text: UnsafeRawBufferPointer) {
        let keyEnd = CanonicalScan.stringEnd(text, from: start)
        key = min(start + 1, keyEnd - 1)..<keyEnd - 1
        keyHasEscapes = text.part(key).contains(UInt8(ascii: "\\"))
        let valueStart = min(keyEnd + 1, text.count)
        value = valueStart..<valueStart
    }

    /// Hands the key's UTF-8 bytes to `body`; a copy only if there are escapes.
    @inlinable @inline(__always)
    package func withKey<Result>(_ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if !keyHasEscapes { return body(text.part(key)) }
        var utf8: [UInt8] = []
        JSONText.appendUnescaped(text.part(key), to: &utf8)
        return utf8.withUnsafeBytes(body)
    }
}

/// The members between two offsets of the text, in key order.
package struct CanonicalMembers: Sequence, IteratorProtocol {
    let text: UnsafeRawBufferPointer
    var offset: Int
    let end: Int

    package init(_ text: UnsafeRawBufferPointer, _ shape: CanonicalShape) {
        self.text = text
        offset = shape.content.lowerBound
        end = shape.kind == .inner ? shape.content.upperBound : offset
    }

    /// From the member at one offset to the end of one.
    package init(_ text: UnsafeRawBufferPointer, from start: Int, to end: Int) {
        self.text = text
        offset = start
        self.end = end
    }

    package mutating func next() -> CanonicalMember? {
        guard offset < end else { return nil }
        let member = CanonicalMember(text, at: offset)
        offset = member.value.upperBound + 1
        return member
    }

    /// The member with a key, given as UTF-8 bytes.
    func first(withKey key: UnsafeRawBufferPointer) -> CanonicalMember? {
        for member in self where member.withKey(text, { equalBytes($0, key) }) { return member }
        return nil
    }
}
