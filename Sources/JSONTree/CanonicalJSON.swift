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
    package private(set) var bytes: [UInt8]

    package static let null = CanonicalJSON(trusted: Array("null".utf8))

    /// `bytes` must be canonical; they are not looked at.
    package init(trusted bytes: [UInt8]) { self.bytes = bytes }

    /// Replaces the text by another canonical one of as many bytes. Takes no memory, unless others share the text.
    package mutating func overwrite(with text: UnsafeRawBufferPointer) {
        precondition(text.count == bytes.count, "a text of another length")
        bytes.withUnsafeMutableBytes { $0.copyMemory(from: text) }
    }

    package static func == (a: CanonicalJSON, b: CanonicalJSON) -> Bool {
        a.bytes.withUnsafeBytes { a in b.bytes.withUnsafeBytes { b in equalBytes(a, b) } }
    }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Whether the value may be a priority: null, a number or a string (Protocol.md 7.1).
    package var isPriority: Bool {
        switch bytes.first {
        case UInt8(ascii: "{"), UInt8(ascii: "t"), UInt8(ascii: "f"): false
        default: true
        }
    }
}

extension CanonicalJSON: CustomStringConvertible {
    /// The text itself: user data.
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

// MARK: Reading

extension CanonicalJSON {
    package typealias Limits = JSONLimits

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

    /// The same, for a text that is not needed any more: its contents are lost. A large value takes little more memory
    /// than the text and itself, and is refused if it takes more than twice the text and 32 MiB.
    ///
    /// After an error the text still has its lines and columns, for ``JSONError/position(in:)``. An error of an object
    /// that contains a large unordered one is reported at the end of the latter.
    ///
    /// - parameter bytesMin: the size of a text from which on its memory is used.
    package static func parse(
        using text: inout [UInt8], limits: Limits = Limits(), bytesMin: Int = 2 << 20
    ) throws(JSONError) -> (value: CanonicalJSON, hasServerValues: Bool) {
        if text.count < bytesMin { return try parse(text, limits: limits) }
        return try parse(using: &text, limits: limits, keepsNulls: false)
    }

    /// - parameter keepsNulls: members of the whole value that hold nothing stay, as nulls.
    package static func parse(
        using text: inout [UInt8], limits: Limits, keepsNulls: Bool
    ) throws(JSONError) -> (value: CanonicalJSON, hasServerValues: Bool) {
        if text.withUnsafeBytes({ CanonicalText.end(of: $0, from: 0, limits: limits) }) == text.count {
            let value = CanonicalJSON(trusted: text)
            text = []
            return (value, false)
        }
        var limits = limits
        limits.byteCount = min(limits.byteCount, 2 * text.count + 32 << 20)
        var result = Result<Bool, JSONError>.success(false)
        // Most of it are addresses only, which never get memory. With room to spare, so that the output does not move
        // before it is refused.
        let bytes = [UInt8](unsafeUninitializedCapacity: limits.byteCount + 64 << 10) { output, count in
            text.withUnsafeMutableBytes { text in
                withUnsafeTemporaryAllocation(byteCount: JSONParser.memoryByteCount, alignment: 8) { memory in
                    var parser = JSONParser(
                        using: text, output: UnsafeMutableRawBufferPointer(output), limits: limits, memory: memory)
                    parser.keepsNulls = keepsNulls
                    do throws(JSONError) {
                        try parser.parseDocument()
                        try parser.refuseLongOutput()
                        result = .success(parser.hasServerValues)
                        count = parser.output.count
                        parser.output.move(to: UnsafeMutableRawBufferPointer(output))
                    } catch {
                        result = .failure(parser.used.restoreLines(for: error))
                    }
                }
            }
        }
        let hasServerValues = try result.get()
        text = []
        return (CanonicalJSON(trusted: bytes), hasServerValues)
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
