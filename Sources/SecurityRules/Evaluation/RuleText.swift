import HearthJSONTree

/// A string at run time: bytes of an array that somebody else owns. Making one from a literal, a key, a claim or a
/// stored string copies nothing.
struct RuleText: Sendable {
    let owner: [UInt8]
    let start: Int
    let end: Int

    init(_ utf8: [UInt8]) {
        owner = utf8
        start = 0
        end = utf8.count
    }

    init(_ owner: [UInt8], _ range: Range<Int>) {
        self.owner = owner
        start = range.lowerBound
        end = range.upperBound
    }

    var byteCount: Int { end - start }

    /// Generalised UTF-8: an unpaired surrogate is its three bytes.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        owner.withUnsafeBytes { body($0.part(start..<end)) }
    }

    var utf8: [UInt8] { Array(owner[start..<end]) }

    static func == (a: RuleText, b: RuleText) -> Bool {
        guard a.byteCount == b.byteCount else { return false }
        return a.withBytes { a in b.withBytes { b in a.equalsBytewise(b) } }
    }

    /// By UTF-16 code units: negative, zero or positive.
    func compared(to other: RuleText) -> Int {
        withBytes { a in other.withBytes { b in compareText(a, b) } }
    }

    /// UTF-16 code units, as in JavaScript.
    var utf16Count: Int {
        withBytes { bytes in
            var count = 0
            // Each character has one byte that continues none; one beyond U+FFFF counts twice.
            for byte in bytes where byte & 0xC0 != 0x80 { count += byte >= 0xF0 ? 2 : 1 }
            return count
        }
    }

    /// - parameter left: the steps that there are for searches; below zero when they did not do, and then the answer
    ///   says nothing.
    func test(_ test: TextTest, _ other: RuleText, left: inout Int) -> Bool {
        withBytes { text in
            other.withBytes { other in
                switch test {
                case .beginsWith: return text.starts(withBytes: other)
                case .endsWith:
                    return text.count >= other.count
                        && text.part(text.count - other.count..<text.count).equalsBytewise(other)
                case .contains: return text.firstOffset(of: other, from: 0, left: &left) != nil
                }
            }
        }
    }

    /// Every occurrence replaced, from left to right. Nil if the result would be longer than `maximum`, or if there are
    /// not enough steps left. Nothing is found of nothing.
    func replacing(_ old: RuleText, with new: RuleText, maximum: Int, left: inout Int) -> RuleText? {
        guard old.byteCount > 0 else { return self }
        var result: [UInt8] = []
        let isWhole = withBytes { text in
            old.withBytes { old in
                var start = 0
                while let found = text.firstOffset(of: old, from: start, left: &left) {
                    result.append(contentsOf: text.part(start..<found))
                    new.withBytes { result.append(contentsOf: $0) }
                    if result.count > maximum { return false }
                    left -= new.byteCount >> 4
                    start = found + old.count
                }
                if left < 0 { return false }
                result.append(contentsOf: text.part(start..<text.count))
                return result.count <= maximum
            }
        }
        return isWhole ? RuleText(result) : nil
    }

    func mappingCase(isUpper: Bool) -> RuleText {
        let isASCII = withBytes { $0.allSatisfy { $0 < 0x80 } }
        if isASCII {
            let first = UInt8(ascii: isUpper ? "a" : "A")
            return RuleText(utf8.map { $0 >= first && $0 < first + 26 ? $0 ^ 0x20 : $0 })
        }
        let text = String(decoding: utf8, as: UTF8.self)
        return RuleText(Array((isUpper ? text.uppercased() : text.lowercased()).utf8))
    }
}

extension UnsafeRawBufferPointer {
    /// Where `other` next occurs. The first byte is looked for first. A step is a byte, or sixteen that are compared at
    /// once.
    fileprivate func firstOffset(of other: UnsafeRawBufferPointer, from start: Int, left: inout Int) -> Int? {
        guard let first = other.first else { return start }
        var offset = start
        while left >= 0, offset + other.count <= count {
            left -= 1
            if self[offset] == first {
                left -= other.count >> 4
                if left < 0 { return nil }
                if part(offset..<offset + other.count).equalsBytewise(other) { return offset }
            }
            offset += 1
        }
        return nil
    }
}
