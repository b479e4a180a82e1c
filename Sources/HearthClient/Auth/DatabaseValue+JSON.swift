package import HearthJSONValues

extension DatabaseValue {
    /// Reads any JSON text of up to 64 levels, including values that a database cannot hold, such as a key with a
    /// period.
    ///
    /// - throws: `invalidValue` if the text is not JSON, or is deeper.
    public init(json text: [UInt8]) throws(DatabaseError) {
        do { self.init(try JSONValue(parsing: text)) } catch { throw .invalidValue("\(error)") }
    }

    package init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .int(value)
        case .double(let value): self = .double(value)
        case .string(let utf8): self = .string(String(decoding: utf8, as: UTF8.self))
        case .array(let elements): self = .array(elements.map { DatabaseValue($0) })
        case .object(let object): self = .object(Self.members(object))
        }
    }

    package static func members(_ object: JSONObject) -> [String: DatabaseValue] {
        var members: [String: DatabaseValue] = [:]
        for member in object.members { members[String(decoding: member.name, as: UTF8.self)] = .init(member.value) }
        return members
    }
}
