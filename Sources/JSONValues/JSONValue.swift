import HearthJSONTree

/// Any JSON value, decoded, as in tokens, keys and account requests. Such texts are small and read once, so ease comes
/// before speed; data of the tree is ``CanonicalJSON``, which cannot hold a key like `google.com`.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A whole number of 64 bits, however it was written.
    case integer(Int64)
    /// Finite, and not a whole number of 64 bits.
    case double(Double)
    /// Valid UTF-8. Bytes, because `String` takes different texts for equal (canonical equivalence).
    case string([UInt8])
    case array([JSONValue])
    case object(JSONObject)

    package static func text(_ text: String) -> JSONValue { .string(Array(text.utf8)) }

    // MARK: Reading

    /// The bytes of a string.
    package var utf8: [UInt8]? { if case .string(let value) = self { value } else { nil } }

    /// A string for display, or for comparison by code units: never to tell identities apart.
    package var text: String? { utf8.map { String(decoding: $0, as: UTF8.self) } }

    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    package var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// Whether it is the string `text`, byte for byte.
    package func isText(_ text: String) -> Bool {
        if case .string(let value) = self { value.elementsEqual(text.utf8) } else { false }
    }

    // MARK: Writing

    /// Appends the text: no white space, members in their order.
    package func append(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: CanonicalJSON(bool: value).bytes)
        case .integer(let value): out.append(contentsOf: CanonicalJSON(integer: value).bytes)
        case .double(let value): out.append(contentsOf: (CanonicalJSON(double: value) ?? .null).bytes)
        case .string(let value): JSONText.appendQuoted(value, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.append(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let object): object.append(to: &out)
        }
    }

    package var bytes: [UInt8] {
        var out: [UInt8] = []
        append(to: &out)
        return out
    }
}

/// The members of a JSON object in their order, each name once. Made for a few members: finding one looks at all.
package struct JSONObject: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package let name: [UInt8]
        package var value: JSONValue
    }

    package private(set) var members: [Member] = []

    package init() {}

    /// The names must differ; nil values are left out.
    package init(_ members: KeyValuePairs<String, JSONValue?>) {
        self.members = members.compactMap { name, value in value.map { Member(name: Array(name.utf8), value: $0) } }
    }

    package var isEmpty: Bool { members.isEmpty }

    /// The value of a member; nil if there is none, which is not the value null. Setting nil removes it, a new one goes
    /// to the end.
    package subscript(_ name: String) -> JSONValue? {
        get { self[Array(name.utf8)] }
        set { self[Array(name.utf8)] = newValue }
    }

    package subscript(_ name: [UInt8]) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            let index = members.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// For a parser that has seen that the name is new.
    mutating func append(_ name: [UInt8], _ value: JSONValue) { members.append(Member(name: name, value: value)) }

    /// Takes over the members of `other`, which win.
    package mutating func merge(_ other: JSONObject) {
        for member in other.members { self[member.name] = member.value }
    }

    package func append(to out: inout [UInt8]) {
        out.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            JSONText.appendQuoted(member.name, to: &out)
            out.append(UInt8(ascii: ":"))
            member.value.append(to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }

    package var bytes: [UInt8] {
        var out: [UInt8] = []
        append(to: &out)
        return out
    }
}
