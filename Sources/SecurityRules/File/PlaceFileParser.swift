import HearthJSONTree
import HearthTreeText

/// A parser of a file in the form of the rules: nested objects whose keys are the keys of children, or wildcards
/// (docs/rules.md 1).
protocol PlaceFileParser {
    var reader: RulesReader { get set }
}

extension PlaceFileParser {
    /// Reads the top level, which has one member. `body` must read its value.
    mutating func parseFile(_ member: String, _ body: (inout Self) throws(Mistake) -> Void) throws(Mistake) {
        guard reader.bytes.count <= RulesReader.fileBytesMax else {
            throw Mistake("The \(member) are longer than \(RulesReader.fileBytesMax) bytes.", at: 0)
        }
        var hasMember = false
        let start = reader.offset
        try forEachMember { (parser, key, offset) throws(Mistake) in
            guard key.utf8.elementsEqual(member.utf8) else {
                throw Mistake("Unknown property '\(key.string)': the top level has '\(member)' only.", at: offset)
            }
            hasMember = true
            try body(&parser)
        }
        guard hasMember else { throw Mistake("The top level needs the property '\(member)'.", at: start) }
        guard try reader.peek() == nil else {
            throw Mistake("Unexpected text after the \(member).", at: reader.offset)
        }
    }

    /// Reads an object. `body` gets each key and its position, and must read the value.
    mutating func forEachMember(
        _ body: (inout Self, RulesReader.Text, Int) throws(Mistake) -> Void
    ) throws(Mistake) {
        var keys: Set<[UInt8]> = []
        try forEachElement(UInt8(ascii: "{"), UInt8(ascii: "}")) { (parser) throws(Mistake) in
            let offset = parser.reader.offset
            let key = try parser.reader.string()
            if key.hasLineBreak { throw Mistake("A name may not contain a line break.", at: offset) }
            guard keys.insert(key.utf8).inserted else { throw Mistake("Duplicate key '\(key.string)'.", at: offset) }
            try parser.reader.expect(UInt8(ascii: ":"))
            _ = try parser.reader.peek()
            try body(&parser, key, offset)
        }
    }

    /// Reads the elements between two signs, separated by commas. One comma may follow the last element.
    mutating func forEachElement(
        _ open: UInt8, _ close: UInt8, _ body: (inout Self) throws(Mistake) -> Void
    ) throws(Mistake) {
        try reader.expect(open)
        if try reader.peek() == UInt8(ascii: ",") { throw Mistake("Unexpected ','.", at: reader.offset) }
        while try reader.peek() != close {
            try body(&self)
            guard try reader.skipIf(UInt8(ascii: ",")) else { break }
        }
        guard try reader.skipIf(close) else {
            throw Mistake("Expected ',' or '\(Unicode.Scalar(close))'.", at: reader.offset)
        }
    }

    /// The encoded key of a child; of a wildcard its name is checked alike, and may be empty.
    static func segment(of utf8: [UInt8], isWildcard: Bool, at offset: Int) throws(Mistake) -> [UInt8] {
        if isWildcard, utf8.isEmpty { return [] }
        var segment: [UInt8] = []
        if utf8.withUnsafeBytes({ Path.appendSegment(ofKey: $0, to: &segment) }) { return segment }
        if utf8.isEmpty { throw Mistake("A name may not be empty.", at: offset) }
        if utf8.contains(where: { ".#$/[]".utf8.contains($0) }) {
            throw Mistake("String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\"", at: offset)
        }
        throw Mistake("A name has at most \(Key.maximumByteCount) bytes and no control characters.", at: offset)
    }
}
