package import HearthJSONTree

/// Who asks: the variable `auth` (docs/rules.md 3.1). Made once per sign-in; rules read it without copying.
package final class RuleAuth: Sendable {
    let object: ClaimsObject
    /// Empty if there is none.
    package let uid: [UInt8]

    /// `auth` is exactly this JSON object, as administrators may choose it. Unlike values of the tree it may hold
    /// lists, nulls and any key.
    package init(json: [UInt8]) throws(JSONError) {
        let value = try RuleValue(claims: json)
        guard case .object(let object) = value else { throw JSONError(.unexpectedByte(json.first ?? 0), at: 0) }
        self.object = object
        uid = if case .text(let text) = object["uid"] { text.utf8 } else { [] }
    }

    /// `auth` of a token: see ``json(uid:provider:claims:)``.
    package convenience init(uid: [UInt8], provider: [UInt8]?, claims: [UInt8]) throws(JSONError) {
        try self.init(json: Self.json(uid: uid, provider: provider, claims: claims))
    }

    /// The text of `auth` of a token: `uid`, `provider` and `token`, which is `claims`, the text of a JSON object.
    package static func json(uid: [UInt8], provider: [UInt8]?, claims: [UInt8]) -> [UInt8] {
        var out = Array(#"{"uid":"#.utf8)
        JSONText.appendQuoted(uid, to: &out)
        if let provider {
            out += #","provider":"#.utf8
            JSONText.appendQuoted(provider, to: &out)
        }
        return out + Array(#","token":"#.utf8) + claims + Array("}".utf8)
    }
}

/// An object below `auth`.
final class ClaimsObject: Sendable {
    private let members: [(key: [UInt8], value: RuleValue)]

    init(_ members: [(key: [UInt8], value: RuleValue)]) { self.members = members }

    /// Null if there is none. Tokens have few members; of equal keys the last one counts.
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
