import HearthExampleKit
import HearthExampleTerminal
import HearthHTTP
import HearthClient

/// The fields in the body of a request, a form or a JSON object, and mistakes in the requested ones.
struct BodyFields {
    /// Nil if it is not a text.
    private var given: [String: String?] = [:]
    private var problems: [String: String] = [:]

    init(_ request: Request) throws(APIFailure) {
        switch request.contentType {
        case "application/json": try readJSON(request.body)
        case "application/x-www-form-urlencoded", nil:
            do throws(HTTPError) { given = try request.form() } catch { throw APIFailure(error) }
        case let type?:
            throw APIFailure(415, "A body is application/x-www-form-urlencoded or application/json, not \(type).")
        }
    }

    private mutating func readJSON(_ body: [UInt8]) throws(APIFailure) {
        guard let object = (try? DatabaseValue(json: body))?.object else {
            throw APIFailure(400, "The body is not a JSON object.")
        }
        for (name, value) in object { given[name] = .some(value.string) }
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

    /// Throws the mistakes in the requested fields.
    func check() throws(APIFailure) { if !problems.isEmpty { throw APIFailure(fields: problems) } }
}
