import ExampleKit
import HTTPCodec
import JSONWebTokens

/// The fields in the body of a request, a form or a JSON object, and what is wrong with those that were asked for.
struct BodyFields {
    /// Nil for what is no text.
    private var given: [String: String?] = [:]
    private var problems: [String: String] = [:]

    /// - parameter type: the `Content-Type`; nil for none, which is taken for a form.
    init(_ body: [UInt8], type: String?) throws(APIFailure) {
        let media = type.map { String($0.prefix { $0 != ";" && $0 != " " }).lowercased() }
        switch media {
        case "application/json": try readJSON(body)
        case "application/x-www-form-urlencoded", nil: try readForm(body)
        default:
            throw APIFailure(
                HTTPStatus(415), "A body is application/x-www-form-urlencoded or application/json, not \(media ?? "").")
        }
    }

    private mutating func readJSON(_ body: [UInt8]) throws(APIFailure) {
        guard let object = (try? JSONValue(parsing: body))?.object else {
            throw APIFailure(.badRequest, "The body is no JSON object.")
        }
        for member in object.members where member.value != .null {
            given[String(decoding: member.name, as: UTF8.self)] = .some(member.value.text)
        }
    }

    private mutating func readForm(_ body: [UInt8]) throws(APIFailure) {
        for parameter in QueryString(body[...]) {
            guard let name = String(validating: parameter.name, as: UTF8.self),
                let value = String(validating: parameter.value, as: UTF8.self)
            else { throw APIFailure(.badRequest, "The body is no UTF-8.") }
            given[name] = value
        }
    }

    /// The text of a field that must be there. Empty if something is wrong with it, which ``check()`` tells.
    ///
    /// - parameter lengthMax: UTF-16 code units, which rules count.
    /// - parameter keepsSpace: whether white space around it belongs to it.
    mutating func text(_ name: String, lengthMax: Int, keepsSpace: Bool = false) -> String {
        guard let text = given[name, default: ""] else {
            problems[name] = "The field '\(name)' must be a text."
            return ""
        }
        let value = keepsSpace ? text : text.trimmed
        if value.isEmpty {
            problems[name] = "The field '\(name)' is missing."
        } else if value.utf16.count > lengthMax {
            problems[name] = "The field '\(name)' has more than \(lengthMax) characters."
        } else {
            return value
        }
        return ""
    }

    /// Throws what is wrong with the fields that were asked for.
    func check() throws(APIFailure) { if !problems.isEmpty { throw APIFailure(fields: problems) } }
}
