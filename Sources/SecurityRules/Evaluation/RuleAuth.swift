package import JSONTree

/// Who asks: what the variable `auth` holds (rules 15). Made once per sign-in; rules read it without copying.
package final class RuleAuth: Sendable {
    let object: ClaimsObject
    /// Empty if there is none.
    package let uid: [UInt8]

    /// `auth` is exactly this JSON object, as administrators may choose it. Unlike values of the tree it may hold lists, nulls and any key.
    package init(json: [UInt8]) throws(JSONError) {
        let value = try Claim(json: json)
        guard case .object(let object) = value else { throw JSONError(.unexpectedByte(json.first ?? 0), at: 0) }
        self.object = object
        uid = if case .text(let text) = object["uid"] { text.utf8 } else { [] }
    }

    /// `auth` of a token: `uid`, `provider` and `token`, the claims as a JSON object.
    package init(uid: [UInt8], provider: [UInt8]?, claims: [UInt8]) throws(JSONError) {
        var members: [(key: [UInt8], value: Claim)] = [(Array("uid".utf8), .text(RuleText(uid)))]
        if let provider { members.append((Array("provider".utf8), .text(RuleText(provider)))) }
        members.append((Array("token".utf8), try Claim(json: claims)))
        object = ClaimsObject(members)
        self.uid = uid
    }
}

/// A value below `auth`.
enum Claim: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case text(RuleText)
    case object(ClaimsObject)
    case list(ClaimsList)
}

final class ClaimsObject: Sendable {
    private let members: [(key: [UInt8], value: Claim)]

    init(_ members: [(key: [UInt8], value: Claim)]) { self.members = members }

    /// Null if there is none. Tokens have few members; of equal keys the last one counts.
    func member(_ key: UnsafeRawBufferPointer) -> Claim {
        for member in members.reversed() where member.key.withUnsafeBytes({ $0.equalsBytewise(key) }) {
            return member.value
        }
        return .null
    }

    subscript(key: StaticString) -> Claim {
        member(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    }
}

final class ClaimsList: Sendable {
    let elements: [Claim]

    init(_ elements: [Claim]) { self.elements = elements }
}

extension Claim {
    private static let maximumDepth = 32

    init(json: [UInt8]) throws(JSONError) {
        self = try json.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in
            var reader = JSONReader(bytes)
            let value = try Claim(&reader, depth: 0)
            try reader.finish()
            return value
        }
    }

    private init(_ reader: inout JSONReader, depth: Int) throws(JSONError) {
        guard depth < Self.maximumDepth else { throw JSONError(.tooDeep(limit: Self.maximumDepth), at: reader.offset) }
        switch try reader.peek() {
        case UInt8(ascii: "{"):
            var members: [(key: [UInt8], value: Claim)] = []
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let key = JSONStringText(raw: key, hasEscapes: true).utf8
                members.append((key, try Claim(&reader, depth: depth + 1)))
            }
            self = .object(ClaimsObject(members))
        case UInt8(ascii: "["):
            var elements: [Claim] = []
            try reader.expect(UInt8(ascii: "["))
            if try reader.peek() != UInt8(ascii: "]") {
                elements.append(try Claim(&reader, depth: depth + 1))
                while try reader.peek() == UInt8(ascii: ",") {
                    try reader.expect(UInt8(ascii: ","))
                    elements.append(try Claim(&reader, depth: depth + 1))
                }
            }
            try reader.expect(UInt8(ascii: "]"))
            self = .list(ClaimsList(elements))
        default:
            let position = reader.offset
            let text = try reader.skipValue()
            self = try Claim(leaf: text, at: position)
        }
    }

    private init(leaf text: UnsafeRawBufferPointer, at offset: Int) throws(JSONError) {
        let (json, _) = try CanonicalJSON.parse(Array(text))
        if json.isNull {
            self = .null
        } else {
            switch RuleValue(leaf: json, json.range) {
            case .bool(let value): self = .bool(value)
            case .number(let value): self = .number(value)
            case .text(let text): self = .text(text)
            default: throw JSONError(.unexpectedByte(text.first ?? 0), at: offset)
            }
        }
    }
}
