import JSONTree

/// Why a rules file is not one, and where: line and column are counted from 1.
package struct RulesError: Error, Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int
    package var message: String

    package var description: String { "\(line):\(column): \(message)" }
}

/// What a rules file asks to be indexed (rules 1): the `.indexOn` of each place, a text or an array of texts. Its other members are passed
/// over. The file is JSON with comments: `// …` and `/* … */`.
package struct RulesIndexes {
    package private(set) var definitions: [IndexDefinition] = []

    package init(parsing file: [UInt8]) throws(RulesError) {
        let text = Self.blankingComments(file)
        do throws(JSONError) {
            try text.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in
                var reader = JSONReader(bytes)
                var hasRules = false
                try reader.forEachMember { (reader, key) throws(JSONError) in
                    if key.equals("rules") {
                        hasRules = true
                        try read(&reader, IndexPattern())
                    } else {
                        _ = try reader.skipValue()
                    }
                }
                try reader.finish()
                if !hasRules { failure = ("a rules file is an object with the member \"rules\"", 0) }
            }
        } catch {
            throw Self.error("\(error)", at: error.offset, in: text)
        }
        if let failure { throw Self.error(failure.message, at: failure.offset, in: text) }
    }

    /// The first mistake that is none of JSON.
    private var failure: (message: String, offset: Int)?

    private mutating func fail(_ message: String, at offset: Int) {
        if failure == nil { failure = (message, offset) }
    }

    private mutating func read(_ reader: inout JSONReader, _ pattern: IndexPattern) throws(JSONError) {
        guard pattern.segments.count <= Path.maximumDepth else {
            return fail("deeper than \(Path.maximumDepth) levels", at: reader.offset)
        }
        try reader.forEachMember { (reader, key) throws(JSONError) in
            let offset = reader.offset
            if key.equals(".indexOn") {
                try readIndexes(&reader, pattern)
            } else if key.first == UInt8(ascii: ".") {
                _ = try reader.skipValue()
            } else if key.first == UInt8(ascii: "$") {
                try read(&reader, IndexPattern(segments: pattern.segments + [nil]))
            } else if let key = try? Key(validating: JSONStringText(raw: key, hasEscapes: true).utf8) {
                try read(&reader, IndexPattern(segments: pattern.segments + [Path([key]).encoded]))
            } else {
                fail("'\(String(decoding: key, as: UTF8.self))' is no key", at: offset)
                _ = try reader.skipValue()
            }
        }
    }

    private mutating func readIndexes(_ reader: inout JSONReader, _ pattern: IndexPattern) throws(JSONError) {
        guard try reader.peek() == UInt8(ascii: "[") else { return try readIndex(&reader, pattern) }
        try reader.expect(UInt8(ascii: "["))
        if try reader.peek() == UInt8(ascii: "]") { return try reader.expect(UInt8(ascii: "]")) }
        while true {
            try readIndex(&reader, pattern)
            guard try reader.peek() == UInt8(ascii: ",") else { return try reader.expect(UInt8(ascii: "]")) }
            try reader.expect(UInt8(ascii: ","))
        }
    }

    private mutating func readIndex(_ reader: inout JSONReader, _ pattern: IndexPattern) throws(JSONError) {
        guard try reader.peek() == UInt8(ascii: "\"") else {
            fail("'.indexOn' is a string or an array of strings", at: reader.offset)
            _ = try reader.skipValue()
            return
        }
        let offset = reader.offset
        let text = String(decoding: try reader.string(), as: UTF8.self)
        switch QueryIndex(description: text) {
        case nil: fail("'\(text)' is neither a path below a child nor '.value'", at: offset)
        // Both orders are always there.
        case .key, .priority: break
        case let index?: definitions.append(IndexDefinition(pattern: pattern, index: index))
        }
    }

    /// Comments become white space, so that places stay what they are.
    private static func blankingComments(_ file: [UInt8]) -> [UInt8] {
        var text = file
        var offset = 0
        var isString = false
        while offset < text.count {
            let next = offset + 1 < text.count ? text[offset + 1] : 0
            switch text[offset] {
            case UInt8(ascii: "\\") where isString: offset += 1
            case UInt8(ascii: "\""): isString.toggle()
            case UInt8(ascii: "/") where !isString && next == UInt8(ascii: "/"):
                while offset < text.count, text[offset] != 0x0A {
                    text[offset] = 0x20
                    offset += 1
                }
                continue
            case UInt8(ascii: "/") where !isString && next == UInt8(ascii: "*"):
                blankBlock(&text, &offset)
                continue
            default: break
            }
            offset += 1
        }
        return text
    }

    private static func blankBlock(_ text: inout [UInt8], _ offset: inout Int) {
        var previous: UInt8 = 0
        text[offset] = 0x20
        text[offset + 1] = 0x20
        offset += 2
        while offset < text.count {
            let byte = text[offset]
            if byte != 0x0A { text[offset] = 0x20 }
            offset += 1
            if previous == UInt8(ascii: "*"), byte == UInt8(ascii: "/") { return }
            previous = byte
        }
    }

    private static func error(_ message: String, at offset: Int, in text: [UInt8]) -> RulesError {
        let before = text[..<min(offset, text.count)]
        let line = before.count { $0 == 0x0A } + 1
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        return RulesError(line: line, column: column, message: message)
    }
}
