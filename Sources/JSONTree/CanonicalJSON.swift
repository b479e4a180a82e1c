/// The value of a node as canonical JSON text, the form in which values are stored, compared and sent.
///
/// It is the export form (with priorities, Protocol.md 7.6) with nothing left to choice, so that equal values have
/// equal bytes:
///
/// - no white space; keys in tree order (Protocol.md 7.5), each once; `.priority` before them;
/// - nothing is `null`, and appears only alone: no null members, no empty objects, no arrays (their elements are
///   members);
/// - a leaf is `true`, `5`, `"text"`, or with a priority `{".priority":p,".value":v}`; an inner node `{"a":1}` or
///   `{".priority":p,"a":1}`;
/// - a whole number of 64 bits is a decimal integer, any other number the shortest text of its double;
/// - strings escape only what JSON demands; an unpaired surrogate, which clients can send as an escape, stays one
///   (`\ud800`, lower case), so nothing is lost;
/// - a server value that is not resolved yet is `{".sv":"timestamp"}` or `{".sv":{"increment":n}}`, with a priority
///   `{".priority":p,".value":{".sv":…}}`.
package struct CanonicalJSON: Hashable, Sendable {
    package let bytes: [UInt8]

    package static let null = CanonicalJSON(trusted: Array("null".utf8))

    /// `bytes` must be canonical; they are not looked at.
    package init(trusted bytes: [UInt8]) { self.bytes = bytes }

    package static func == (a: CanonicalJSON, b: CanonicalJSON) -> Bool {
        a.bytes.withUnsafeBytes { a in b.bytes.withUnsafeBytes { b in equalBytes(a, b) } }
    }

    /// Whether the other value shares the memory of this one's text. O(1).
    package func isSameText(as other: CanonicalJSON) -> Bool {
        bytes.withUnsafeBytes { a in
            other.bytes.withUnsafeBytes { b in a.baseAddress == b.baseAddress && a.count == b.count }
        }
    }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension CanonicalJSON: CustomStringConvertible {
    /// The text itself: user data.
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

// MARK: Reading

extension CanonicalJSON {
    /// What a value may be at most (Protocol.md 9). The limit of a key is `Key.maximumByteCount`.
    package struct Limits: Hashable, Sendable {
        /// Levels below the value's root: `Path.maximumDepth` less the depth of the place it is written to.
        package var depth: Int
        /// UTF-8 bytes of a string value.
        package var stringByteCount: Int

        package init(depth: Int = Path.maximumDepth, stringByteCount: Int = 10 << 20) {
            self.depth = depth
            self.stringByteCount = stringByteCount
        }
    }

    /// The longest text that is parsed at all: the limit of a write over HTTP. The canonical text is at most seven
    /// times as long (an array of digits), so its offsets fit 32 bits.
    package static let maximumTextByteCount = 256 << 20

    /// Reads a JSON text (RFC 8259) and gives the value it means, wrappers normalised.
    ///
    /// One pass, and another one up to where the text is not canonical itself; the parser's stack grows with
    /// `limits.depth`. `hasServerValues` tells whether there were placeholders (see `resolved`).
    package static func parse(
        _ text: RawSpan, limits: Limits = Limits()
    ) throws(JSONError) -> (value: CanonicalJSON, hasServerValues: Bool) {
        try text.withUnsafeBytes { (text) throws(JSONError) in
            if CanonicalText.end(of: text, from: 0, limits: limits) == text.count {
                return (CanonicalJSON(trusted: [UInt8](text)), false)
            }
            return try withUnsafeTemporaryAllocation(byteCount: JSONParser.memoryByteCount, alignment: 8) { memory in
                Result { () throws(JSONError) in
                    var parser = JSONParser(text, limits: limits, memory: memory)
                    try parser.parseDocument()
                    let bytes = [UInt8](parser.output.bytes(0..<parser.output.count))
                    return (CanonicalJSON(trusted: bytes), parser.hasServerValues)
                }
            }.get()
        }
    }

    /// Reads the value that begins at `start` of a longer text, and tells where it ends. Offsets of errors count from
    /// the start of `text`.
    package static func parseMember(
        of text: UnsafeRawBufferPointer, from start: Int, limits: Limits
    ) throws(JSONError) -> (value: CanonicalJSON, hasServerValues: Bool, end: Int) {
        if let end = CanonicalText.end(of: text, from: start, limits: limits) {
            return (CanonicalJSON(trusted: [UInt8](text.part(start..<end))), false, end)
        }
        return try withUnsafeTemporaryAllocation(byteCount: JSONParser.memoryByteCount, alignment: 8) { memory in
            Result { () throws(JSONError) in
                var parser = JSONParser(text, limits: limits, memory: memory)
                parser.offset = start
                try parser.parseValue()
                let bytes = [UInt8](parser.output.bytes(0..<parser.output.count))
                return (CanonicalJSON(trusted: bytes), parser.hasServerValues, parser.offset)
            }
        }.get()
    }

    package static func parse(
        _ text: [UInt8], limits: Limits = Limits()
    ) throws(JSONError) -> (value: CanonicalJSON, hasServerValues: Bool) {
        try parse(text.span.bytes, limits: limits)
    }
}

// MARK: Leaves

extension CanonicalJSON {
    package init(bool value: Bool) { self.init(trusted: Array((value ? "true" : "false").utf8)) }

    package init(integer value: Int64) {
        var bytes: [UInt8] = []
        appendDecimal(value, to: &bytes)
        self.init(trusted: bytes)
    }

    /// Nil for a value that is not finite.
    package init?(double value: Double) {
        guard value.isFinite else { return nil }
        var bytes: [UInt8] = []
        JSONNumber(value).appendText(to: &bytes)
        self.init(trusted: bytes)
    }

    /// The string of valid UTF-8 bytes, or of a text that holds unpaired surrogates as ED A0…BF xx.
    package init(string utf8: [UInt8]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count + 2)
        JSONText.appendQuoted(utf8, to: &bytes)
        self.init(trusted: bytes)
    }
}
