import HearthIdentity
import HearthJSONValues

/// The members of a request, read as leniently as Google's JSON mapping does (accounts.md 1): names in camel or snake
/// case, numbers for strings and strings for numbers, null as nothing. Unknown members are left alone.
struct IdentityFields {
    let object: JSONObject

    init(_ object: JSONObject) { self.object = object }

    /// Reads a body; nothing is an object without members.
    init(body: [UInt8]) throws(AccountFailure) {
        if body.allSatisfy({ " \t\r\n".utf8.contains($0) }) {
            self.init(JSONObject())
            return
        }
        guard case .object(let object)? = try? JSONValue(parsing: body) else {
            throw .request(.invalidArgument("Invalid JSON payload received. The body is not a JSON object."))
        }
        self.init(object)
    }

    subscript(_ name: String) -> JSONValue? {
        let value = object[name] ?? object[Self.snakeCase(name)]
        return value == .null ? nil : value
    }

    func has(_ name: String) -> Bool { self[name] != nil }

    static func snakeCase(_ name: String) -> String {
        var out = ""
        for scalar in name.unicodeScalars {
            if scalar.properties.isUppercase {
                out += "_" + scalar.properties.lowercaseMapping
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    private static func invalid(_ name: String) -> AccountFailure {
        .request(.invalidArgument("Invalid value at '\(name)'"))
    }

    func text(_ name: String) throws(AccountFailure) -> String? {
        switch self[name] {
        case nil: return nil
        case .string(let utf8)?: return String(decoding: utf8, as: UTF8.self)
        case .integer(let number)?: return String(number)
        default: throw Self.invalid(name)
        }
    }

    func bytes(_ name: String) throws(AccountFailure) -> [UInt8]? {
        try text(name).map { Array($0.utf8) }
    }

    func integer(_ name: String) throws(AccountFailure) -> Int64? {
        switch self[name] {
        case nil: return nil
        case .integer(let number)?: return number
        case .double(let number)? where abs(number) < 0x1p62: return Int64(number)
        case .string(let utf8)?:
            guard let number = Int64(String(decoding: utf8, as: UTF8.self)) else { throw Self.invalid(name) }
            return number
        default: throw Self.invalid(name)
        }
    }

    func bool(_ name: String) throws(AccountFailure) -> Bool? {
        switch self[name] {
        case nil: return nil
        case .bool(let value)?: return value
        case let value? where value.isText("true"): return true
        case let value? where value.isText("false"): return false
        default: throw Self.invalid(name)
        }
    }

    /// A list of texts; one alone counts as a list.
    func texts(_ name: String) throws(AccountFailure) -> [String] {
        switch self[name] {
        case nil: return []
        case .string(let utf8)?: return [String(decoding: utf8, as: UTF8.self)]
        case .array(let values)?:
            var texts: [String] = []
            for value in values {
                guard let text = value.text else { throw Self.invalid(name) }
                texts.append(text)
            }
            return texts
        default: throw Self.invalid(name)
        }
    }

    /// A list of objects; one alone counts as a list.
    func objects(_ name: String) throws(AccountFailure) -> [IdentityFields] {
        switch self[name] {
        case nil: return []
        case .object(let object)?: return [IdentityFields(object)]
        case .array(let values)?:
            var objects: [IdentityFields] = []
            for value in values {
                guard let object = value.object else { throw Self.invalid(name) }
                objects.append(IdentityFields(object))
            }
            return objects
        default: throw Self.invalid(name)
        }
    }

    func object(_ name: String) throws(AccountFailure) -> IdentityFields? {
        switch self[name] {
        case nil: return nil
        case .object(let object)?: return IdentityFields(object)
        default: throw Self.invalid(name)
        }
    }
}
