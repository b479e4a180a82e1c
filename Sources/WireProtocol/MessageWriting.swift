import JSONTree

/// What the messages of both sides are made of.
extension [UInt8] {
    mutating func append(literal: StaticString) { literal.withUTF8Buffer { append(contentsOf: $0) } }

    /// Appends the text of a place as a JSON string.
    mutating func append(quoted target: WriteTarget) { JSONText.appendQuoted(target.text, to: &self) }

    mutating func append(quoted path: Path) { JSONText.appendQuoted(path.text, to: &self) }

    /// Appends `"p":base,"d":{relative:value,…}`; the targets lie at or below `base`.
    mutating func append(
        base: Path, _ assignments: some Sequence<(target: WriteTarget, value: CanonicalJSON)>
    ) {
        append(literal: #""p":"#)
        append(quoted: base)
        append(literal: #","d":{"#)
        var isFirst = true
        for (target, value) in assignments {
            if !isFirst { append(UInt8(ascii: ",")) }
            isFirst = false
            let relative = target.path.dropFirst(bytes: base.encoded.count)
            append(quoted: WriteTarget(path: relative, isPriority: target.isPriority))
            append(UInt8(ascii: ":"))
            append(contentsOf: value.bytes)
        }
        append(UInt8(ascii: "}"))
    }

    /// Appends a number between two texts, in one piece: most answers are of this form.
    mutating func append(_ before: StaticString, decimal number: Int64, _ after: StaticString) {
        let countMax = before.utf8CodeUnitCount + 20 + after.utf8CodeUnitCount
        withUnsafeTemporaryAllocation(byteCount: countMax, alignment: 1) { piece in
            // Filled from the end. Invariant: a number has at most 20 bytes, so what is before it fits.
            var start = countMax
            func prepend(_ text: StaticString) {
                start -= text.utf8CodeUnitCount
                piece[start...].copyMemory(from: text)
            }
            prepend(after)
            var rest = number.magnitude
            repeat {
                start -= 1
                piece[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                start -= 1
                piece[start] = UInt8(ascii: "-")
            }
            prepend(before)
            append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[start...]))
        }
    }

    mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var rest = value.magnitude
            var start = 20
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            append(contentsOf: digits[start...])
        }
    }
}

extension Slice<UnsafeMutableRawBufferPointer> {
    fileprivate func copyMemory(from text: StaticString) {
        UnsafeMutableRawBufferPointer(rebasing: self)
            .copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
