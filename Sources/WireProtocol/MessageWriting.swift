package import HearthJSONTree

/// Parts of the messages of both sides.
extension [UInt8] {
    @inlinable package mutating func append(literal: StaticString) { literal.withUTF8Buffer { append(contentsOf: $0) } }

    /// Appends the text of a place as a JSON string.
    package mutating func append(quoted target: WriteTarget) { JSONText.appendQuoted(target.text, to: &self) }

    package mutating func append(quoted path: Path) { JSONText.appendQuoted(path.text, to: &self) }

    /// Appends `"p":base,"d":{relative:value,…}`; the targets lie at or below `base`.
    package mutating func append(
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

    package mutating func append(decimal value: Int64) { appendDecimal(value, to: &self) }
}
