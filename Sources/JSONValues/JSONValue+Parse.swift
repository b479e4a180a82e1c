package import HearthJSONTree

/// Why a text is not read as a ``JSONValue``.
package enum JSONValueError: Error, Hashable, Sendable {
    case syntax(JSONError)
    /// An object names a member twice: readers would disagree about its value (RFC 7519, section 4).
    case duplicateMember(offset: Int)
}

extension JSONValue {
    /// Answers of a server have values of a database, which are up to 33 levels deep with the priority of the deepest
    /// one, in objects and lists of their own.
    package static let depthMax = 64
    /// The levels of claims, which the variable `auth` of rules holds.
    package static let claimsDepthMax = 32

    /// Reads a whole JSON text (RFC 8259), strictly: valid UTF-8 without unpaired surrogates, every member once, at
    /// most `depthMax` levels. The caller bounds its length.
    package init(parsing text: [UInt8], depthMax: Int = Self.depthMax) throws(JSONValueError) {
        self = try text.span.bytes.withUnsafeBytes { (text) throws(JSONValueError) in
            guard isValidUTF8(text) else { throw .syntax(JSONError(.invalidUTF8, at: 0)) }
            var parser = JSONValueParser(reader: JSONReader(text), depthMax: depthMax)
            let value = try parser.value(depth: depthMax)
            try parser.finish()
            return value
        }
    }
}

private func isValidUTF8(_ bytes: some Sequence<UInt8>) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

private struct JSONValueParser {
    var reader: JSONReader
    /// For errors.
    let depthMax: Int

    mutating func value(depth: Int) throws(JSONValueError) -> JSONValue {
        switch try read({ (reader) throws(JSONError) in try reader.peek() }) {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        default: return try read { (reader) throws(JSONError) in try Self.scalar(&reader) }
        }
    }

    mutating func finish() throws(JSONValueError) {
        try read { (reader) throws(JSONError) in try reader.finish() }
    }

    private mutating func object(depth: Int) throws(JSONValueError) -> JSONObject {
        var object = JSONObject()
        var names: Set<[UInt8]> = []
        try forEachItem(open: "{", close: "}", depth: depth) { (parser) throws(JSONValueError) in
            let offset = parser.reader.offset
            let name = try parser.string()
            guard names.insert(name).inserted else { throw .duplicateMember(offset: offset) }
            try parser.read { (reader) throws(JSONError) in try reader.expect(UInt8(ascii: ":")) }
            object.append(name, try parser.value(depth: depth - 1))
        }
        return object
    }

    private mutating func array(depth: Int) throws(JSONValueError) -> [JSONValue] {
        var elements: [JSONValue] = []
        try forEachItem(open: "[", close: "]", depth: depth) { (parser) throws(JSONValueError) in
            elements.append(try parser.value(depth: depth - 1))
        }
        return elements
    }

    private mutating func forEachItem(
        open: Unicode.Scalar, close: Unicode.Scalar, depth: Int,
        _ body: (inout JSONValueParser) throws(JSONValueError) -> Void
    ) throws(JSONValueError) {
        let close = UInt8(ascii: close)
        guard depth > 0 else { throw .syntax(JSONError(.tooDeep(limit: depthMax), at: reader.offset)) }
        let isEmpty = try read { (reader) throws(JSONError) in
            try reader.expect(UInt8(ascii: open))
            guard try reader.peek() == close else { return false }
            try reader.expect(close)
            return true
        }
        if isEmpty { return }
        while true {
            try body(&self)
            let isLast = try read { (reader) throws(JSONError) in
                let isLast = try reader.peek() == close
                try reader.expect(isLast ? close : UInt8(ascii: ","))
                return isLast
            }
            if isLast { return }
        }
    }

    private mutating func string() throws(JSONValueError) -> [UInt8] {
        try read { (reader) throws(JSONError) in
            let offset = reader.offset
            let text = try reader.stringText()
            let utf8 = text.utf8
            // Escapes can name half a surrogate pair.
            guard !text.hasEscapes || isValidUTF8(utf8) else { throw JSONError(.invalidUTF8, at: offset) }
            return utf8
        }
    }

    private static func scalar(_ reader: inout JSONReader) throws(JSONError) -> JSONValue {
        let offset = reader.offset
        let text = try reader.skipValue()
        if text.elementsEqual("true".utf8) { return .bool(true) }
        if text.elementsEqual("false".utf8) { return .bool(false) }
        if text.elementsEqual("null".utf8) { return .null }
        guard isNumber(text) else { throw JSONError(.invalidNumber, at: offset) }
        let digits = String(decoding: text, as: UTF8.self)
        if let integer = Int64(digits) { return .integer(integer) }
        guard let number = Double(digits), number.isFinite else { throw JSONError(.numberTooLarge, at: offset) }
        return Int64(exactly: number).map { .integer($0) } ?? .double(number)
    }

    /// The grammar of RFC 8259, section 6, which is stricter than Swift's.
    private static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        var rest = text[...]
        func skipDigits() -> Int {
            let digits = rest.prefix { $0 &- UInt8(ascii: "0") <= 9 }.count
            rest = rest.dropFirst(digits)
            return digits
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let digits = skipDigits()
        guard digits == 1 || digits > 1 && !startsWithZero else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            if skipDigits() == 0 { return false }
        }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest = rest.dropFirst() }
            if skipDigits() == 0 { return false }
        }
        return rest.isEmpty
    }

    private mutating func read<Result>(
        _ body: (inout JSONReader) throws(JSONError) -> Result
    ) throws(JSONValueError) -> Result {
        do throws(JSONError) { return try body(&reader) } catch { throw .syntax(error) }
    }
}
