import HearthJSONTree

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
        let (before, after) = (before.bytes, after.bytes)
        withDecimal(number) { digits in
            let digitsEnd = before.count + digits.count
            withUnsafeTemporaryAllocation(byteCount: digitsEnd + after.count, alignment: 1) { piece in
                piece.copyMemory(from: before)
                UnsafeMutableRawBufferPointer(rebasing: piece[before.count..<digitsEnd]).copyMemory(from: digits)
                UnsafeMutableRawBufferPointer(rebasing: piece[digitsEnd...]).copyMemory(from: after)
                append(contentsOf: UnsafeRawBufferPointer(piece))
            }
        }
    }

    mutating func append(decimal value: Int64) { appendDecimal(value, to: &self) }
}

extension StaticString {
    fileprivate var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
