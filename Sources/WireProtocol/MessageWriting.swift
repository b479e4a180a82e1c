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
