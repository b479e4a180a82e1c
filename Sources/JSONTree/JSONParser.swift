/// One pass from JSON text to canonical text, without a tree in between.
///
/// Values are written to `output` as they are read. The members of the objects that are open are kept on a stack, as
/// ranges of the output; an object whose members did not come in order, once each and with a value, is rearranged when
/// it ends.
struct JSONParser: ~Copyable {
    /// The kind of a value.
    enum Kind {
        case nothing
        case bool
        case number
        case string
        case serverValue
        /// An object, or a leaf with a priority.
        case object
    }

    let input: UnsafeRawBufferPointer
    let limits: JSONLimits
    var offset = 0
    var output: ByteScratch
    var members: MemberStack
    var used: UsedInput
    var hasServerValues = false
    /// Members of the whole value that hold nothing stay, as nulls.
    var keepsNulls = false

    /// Memory with which a parser of a short text needs no other. Aligned as eight bytes.
    static let memoryByteCount = 1024
    private static let membersByteCount = 16 * MemoryLayout<JSONMember>.stride
    /// An object of more bytes is sorted in a separate buffer.
    static let largeObjectBytesMin = 64 << 10

    /// `memory` has `memoryByteCount` bytes and outlives the parser.
    init(_ input: UnsafeRawBufferPointer, limits: JSONLimits, memory: UnsafeMutableRawBufferPointer) {
        self.input = input
        self.limits = limits
        used = UsedInput(nil)
        members = MemberStack(in: UnsafeMutableRawBufferPointer(rebasing: memory[..<Self.membersByteCount]))
        let rest = UnsafeMutableRawBufferPointer(rebasing: memory[Self.membersByteCount...])
        output = input.count + 16 <= rest.count ? ByteScratch(in: rest) : ByteScratch(capacity: input.count + 16)
    }

    /// The parser may use the input for other things, once it has read it. The output begins in memory that outlives
    /// the parser too.
    init(
        using input: UnsafeMutableRawBufferPointer, output: UnsafeMutableRawBufferPointer,
        limits: JSONLimits, memory: UnsafeMutableRawBufferPointer
    ) {
        self.input = UnsafeRawBufferPointer(input)
        self.limits = limits
        used = UsedInput(input.baseAddress)
        members = MemberStack(in: UnsafeMutableRawBufferPointer(rebasing: memory[..<Self.membersByteCount]))
        self.output = ByteScratch(in: output)
    }

    mutating func parseDocument() throws(JSONError) {
        try parseValue()
        skipWhiteSpace()
        if offset < input.count { throw JSONError(.trailingBytes, at: offset) }
    }

    /// Reads one whole value.
    mutating func parseValue() throws(JSONError) {
        guard input.count <= JSONLimits.maximumTextByteCount else { throw JSONError(.textTooLong, at: 0) }
        if try parseNode(depth: limits.depth) == .nothing { output.append("null") }
    }

    /// Reads a value below which `depth` more levels are allowed. Writes nothing for nothing.
    mutating func parseNode(depth: Int) throws(JSONError) -> Kind {
        skipWhiteSpace()
        switch try peek() {
        case UInt8(ascii: "{"): return try parseObject(depth: depth)
        case UInt8(ascii: "["): return try parseArray(depth: depth)
        default: return try parseScalar()
        }
    }

    /// Reads the value of `.value` or `.priority`: a scalar or a server value.
    mutating func parseLeaf(else error: JSONError.Kind) throws(JSONError) -> Kind {
        skipWhiteSpace()
        switch try peek() {
        case UInt8(ascii: "{"):
            let start = offset
            offset += 1
            skipWhiteSpace()
            guard try peek() == UInt8(ascii: "\"") else { throw JSONError(error, at: start) }
            let key = output.count + 1
            output.append(UInt8(ascii: "{"))
            try parseString()
            guard output.bytes(key..<output.count).elementsEqual("\".sv\"".utf8) else {
                throw JSONError(error, at: start)
            }
            try parseColon()
            try parseServerValue()
            skipWhiteSpace()
            guard try peek() == UInt8(ascii: "}") else { throw JSONError(.invalidServerValue, at: start) }
            offset += 1
            output.append(UInt8(ascii: "}"))
            return .serverValue
        case UInt8(ascii: "["): throw JSONError(error, at: offset)
        default: return try parseScalar()
        }
    }

    private mutating func parseScalar() throws(JSONError) -> Kind {
        switch input[offset] {
        case UInt8(ascii: "\""):
            try parseString()
            return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try parseNumber()
            return .number
        case UInt8(ascii: "t"):
            try parseLiteral("true")
            output.append("true")
            return .bool
        case UInt8(ascii: "f"):
            try parseLiteral("false")
            output.append("false")
            return .bool
        case UInt8(ascii: "n"):
            try parseLiteral("null")
            return .nothing
        case let byte: throw JSONError(.unexpectedByte(byte), at: offset)
        }
    }

    private mutating func parseLiteral(_ literal: StaticString) throws(JSONError) {
        for index in 0..<literal.utf8CodeUnitCount {
            let byte = try peek()
            guard byte == literal.utf8Start[index] else { throw JSONError(.unexpectedByte(byte), at: offset) }
            offset += 1
        }
    }

    /// An array is an object whose keys are the indices (Protocol.md 7.1); they come in order and once each.
    private mutating func parseArray(depth: Int) throws(JSONError) -> Kind {
        offset += 1
        let start = output.count
        output.append(UInt8(ascii: "{"))
        var index: Int64 = 0
        skipWhiteSpace()
        if try peek() == UInt8(ascii: "]") {
            offset += 1
            output.truncate(to: start)
            return .nothing
        }
        if depth == 0 { throw JSONError(.tooDeep(limit: limits.depth), at: offset) }
        while true {
            let elementStart = output.count
            if elementStart > start + 1 { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            withDecimal(index) { output.append($0) }
            output.append("\":")
            if try parseNode(depth: depth - 1) == .nothing { output.truncate(to: elementStart) }
            index += 1
            try refuseLongOutput()
            skipWhiteSpace()
            let byte = try peek()
            offset += 1
            if byte == UInt8(ascii: ",") { continue }
            guard byte == UInt8(ascii: "]") else { throw JSONError(.unexpectedByte(byte), at: offset - 1) }
            break
        }
        if output.count == start + 1 {
            output.truncate(to: start)
            return .nothing
        }
        output.append(UInt8(ascii: "}"))
        return .object
    }

    /// Reads the value of the key `.sv` (Protocol.md 7.6).
    mutating func parseServerValue() throws(JSONError) {
        skipWhiteSpace()
        let start = offset
        let outputStart = output.count
        if try peek() == UInt8(ascii: "\"") {
            try parseString()
            guard output.bytes(outputStart..<output.count).elementsEqual("\"timestamp\"".utf8) else {
                throw JSONError(.invalidServerValue, at: start)
            }
        } else {
            guard input[offset] == UInt8(ascii: "{") else { throw JSONError(.invalidServerValue, at: start) }
            offset += 1
            output.append(UInt8(ascii: "{"))
            skipWhiteSpace()
            guard try peek() == UInt8(ascii: "\"") else { throw JSONError(.invalidServerValue, at: start) }
            try parseString()
            guard output.bytes(outputStart..<output.count).elementsEqual("{\"increment\"".utf8) else {
                throw JSONError(.invalidServerValue, at: start)
            }
            try parseColon()
            skipWhiteSpace()
            guard try peek() != UInt8(ascii: "\""), try parseLeaf(else: .invalidServerValue) == .number else {
                throw JSONError(.invalidServerValue, at: start)
            }
            skipWhiteSpace()
            guard try peek() == UInt8(ascii: "}") else { throw JSONError(.invalidServerValue, at: start) }
            offset += 1
            output.append(UInt8(ascii: "}"))
        }
        hasServerValues = true
    }

    /// Reads the colon after a key and writes it.
    mutating func parseColon() throws(JSONError) {
        skipWhiteSpace()
        let byte = try peek()
        guard byte == UInt8(ascii: ":") else { throw JSONError(.unexpectedByte(byte), at: offset) }
        offset += 1
        output.append(UInt8(ascii: ":"))
    }

    @inline(__always)
    func refuseLongOutput() throws(JSONError) {
        if output.count > limits.byteCount { throw JSONError(.textTooLong, at: offset) }
    }

    @inline(__always)
    func peek() throws(JSONError) -> UInt8 {
        guard offset < input.count else { throw JSONError(.unexpectedEnd, at: offset) }
        return input[offset]
    }

    @inline(__always)
    mutating func skipWhiteSpace() {
        while offset < input.count {
            let byte = input[offset]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            offset += 1
        }
    }
}
