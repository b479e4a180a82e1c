import HearthJSONTree

/// The set of a place in exactly the words that the SDKs use, read in one pass:
///
///     {"t":"d","d":{"r":7,"a":"p","b":{"p":"/rooms/a","d":…}}}
///
/// Most messages are of this form. Whatever differs in any way, by a space or a mistake, is left to
/// ``ClientMessage/parseGenerally(_:)``, which gives the same result for these.
package struct PlainPut {
    package let number: Int64
    package let assignment: WireAssignment

    package init?(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        guard bytes.skip(#"{"t":"d","d":{"r":"#, at: &offset), let number = Self.number(in: bytes, &offset),
            bytes.skip(#","a":"p","b":{"p":""#, at: &offset)
        else { return nil }
        let start = offset
        while offset < bytes.count, bytes[offset] != UInt8(ascii: "\""), bytes[offset] != UInt8(ascii: "\\") {
            offset += 1
        }
        let text = bytes.part(start..<offset)
        guard bytes.skip(#"","d":"#, at: &offset), let target = try? WriteTarget(parsing: text.bytes) else {
            return nil
        }
        let limits = CanonicalJSON.Limits(depth: Path.maximumDepth - target.path.depth)
        guard let parsed = try? CanonicalJSON.parseMember(of: bytes, from: offset, limits: limits) else { return nil }
        offset = parsed.end
        guard bytes.skip("}}}", at: &offset), offset == bytes.count,
            !target.isPriority || parsed.value.isPriority
        else { return nil }
        self.number = number
        assignment = WireAssignment(target: target, value: parsed.value, hasServerValues: parsed.hasServerValues)
    }

    /// A number without sign, fraction or exponent that surely fits.
    private static func number(in bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Int64? {
        let start = offset
        var value: Int64 = 0
        while offset < bytes.count, offset - start < 18 {
            let digit = bytes[offset] &- UInt8(ascii: "0")
            if digit > 9 { break }
            value = value * 10 + Int64(digit)
            offset += 1
        }
        let digits = offset - start
        return digits == 1 || digits > 1 && bytes[start] != UInt8(ascii: "0") ? value : nil
    }
}
