import HearthJSONTree

/// An object below `auth`.
final class ClaimsObject: Sendable {
    private let members: [(key: [UInt8], value: RuleValue)]

    init(_ members: [(key: [UInt8], value: RuleValue)]) { self.members = members }

    /// The value of a key, or null. The last one counts if there are several. O(members): tokens have few.
    func member(_ key: UnsafeRawBufferPointer) -> RuleValue {
        for member in members.reversed() where member.key.withUnsafeBytes({ $0.equalsBytewise(key) }) {
            return member.value
        }
        return .null
    }

    subscript(key: StaticString) -> RuleValue {
        member(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    }
}

final class ClaimsList: Sendable {
    let elements: [RuleValue]

    init(_ elements: [RuleValue]) { self.elements = elements }
}

extension RuleValue {
    private static let maximumDepth = 32

    /// Reads JSON such as tokens hold.
    init(claims json: [UInt8]) throws(JSONError) {
        self = try json.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in
            var reader = JSONReader(bytes)
            let value = try RuleValue(&reader, depth: 0)
            try reader.finish()
            return value
        }
    }

    private init(_ reader: inout JSONReader, depth: Int) throws(JSONError) {
        guard depth < Self.maximumDepth else { throw JSONError(.tooDeep(limit: Self.maximumDepth), at: reader.offset) }
        switch try reader.peek() {
        case UInt8(ascii: "{"):
            var members: [(key: [UInt8], value: RuleValue)] = []
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let key = JSONStringText(raw: key, hasEscapes: true).utf8
                members.append((key, try RuleValue(&reader, depth: depth + 1)))
            }
            self = .object(ClaimsObject(members))
        case UInt8(ascii: "["):
            var elements: [RuleValue] = []
            try reader.expect(UInt8(ascii: "["))
            if try reader.peek() != UInt8(ascii: "]") {
                elements.append(try RuleValue(&reader, depth: depth + 1))
                while try reader.peek() == UInt8(ascii: ",") {
                    try reader.expect(UInt8(ascii: ","))
                    elements.append(try RuleValue(&reader, depth: depth + 1))
                }
            }
            try reader.expect(UInt8(ascii: "]"))
            self = .list(ClaimsList(elements))
        default:
            let position = reader.offset
            let text = try reader.skipValue()
            self = try RuleValue(claim: text, at: position)
        }
    }

    private init(claim text: UnsafeRawBufferPointer, at offset: Int) throws(JSONError) {
        let (json, _) = try CanonicalJSON.parse(Array(text))
        guard json.isNull || json.isLeaf else { throw JSONError(.unexpectedByte(text.first ?? 0), at: offset) }
        self = RuleValue(leaf: json, json.range)
    }
}
