package import HearthJSONTree
package import HearthWireProtocol
package import HearthServerProtocol

/// A set or a get in exactly the words that the SDKs use, read in one pass:
///
///     {"t":"d","d":{"r":7,"a":"p","b":{"p":"/rooms/a","d":…}}}
///     {"t":"d","d":{"r":8,"a":"g","b":{"p":"/rooms/a","q":{}}}}
///
/// Most messages have these forms. A message that differs, even by a space, is left to ``ClientMessage/parse(_:)``,
/// which gives the same result for these forms.
package enum PlainRequest {
    case put(number: Int64, WireAssignment)
    /// Everything at a place.
    case get(number: Int64, Path)

    package init?(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        guard bytes.skip(#"{"t":"d","d":{"r":"#, at: &offset), let number = Self.number(in: bytes, &offset) else {
            return nil
        }
        if bytes.skip(#","a":"p","b":{"p":""#, at: &offset) {
            guard let assignment = Self.assignment(in: bytes, &offset) else { return nil }
            self = .put(number: number, assignment)
        } else if bytes.skip(#","a":"g","b":{"p":""#, at: &offset) {
            let text = Self.plainText(in: bytes, &offset)
            guard bytes.skip(#"","q":{}}}}"#, at: &offset), let path = try? Path(parsing: text.bytes) else {
                return nil
            }
            self = .get(number: number, path)
        } else {
            return nil
        }
        guard offset == bytes.count else { return nil }
    }

    private static func assignment(in bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> WireAssignment? {
        let text = plainText(in: bytes, &offset)
        guard bytes.skip(#"","d":"#, at: &offset), let target = try? WriteTarget(parsing: text.bytes) else {
            return nil
        }
        let limits = CanonicalJSON.Limits(depth: Path.maximumDepth - target.path.depth)
        guard let parsed = try? CanonicalJSON.parseMember(of: bytes, from: offset, limits: limits) else { return nil }
        offset = parsed.end
        guard bytes.skip("}}}", at: &offset), !target.isPriority || parsed.value.isPriority else { return nil }
        return WireAssignment(target: target, value: parsed.value, hasServerValues: parsed.hasServerValues)
    }

    /// The text of a string up to its end, or to an escape, which no plain request has.
    private static func plainText(in bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> UnsafeRawBufferPointer {
        let start = offset
        while offset < bytes.count, bytes[offset] != UInt8(ascii: "\""), bytes[offset] != UInt8(ascii: "\\") {
            offset += 1
        }
        return bytes.part(start..<offset)
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

extension ClientMessage {
    /// Reads a message as ``parse(_:)`` does; a ``PlainRequest`` faster.
    package static func read(_ bytes: UnsafeRawBufferPointer) throws(MessageError) -> ClientMessage {
        switch PlainRequest(bytes) {
        case .put(let number, let assignment): .request(number: number, .put(assignment, hash: nil))
        case .get(let number, let path): .request(number: number, .get(path, query: everything))
        case nil: try parse(bytes)
        }
    }

    private static let everything = try? QueryObject(parsing: Array("{}".utf8))
}
