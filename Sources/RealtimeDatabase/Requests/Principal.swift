package import HearthJSONTree
import HearthSecurityRules
package import HearthStorageErrors

/// On whose behalf a request is made. All requests of a session share one.
package final class Principal: Hashable, Sendable {
    /// Rules do not apply.
    package let isAdministrator: Bool
    /// Its writes make events of triggers.
    let firesTriggers: Bool
    /// The JSON text of `auth` in rules; `null` without a user.
    package let json: [UInt8]
    /// The same as rules read it.
    let auth: RuleAuth?

    /// The principal for the rules. `json` is their `auth`: an object, or `null` without a user.
    package init(auth json: [UInt8]) throws(JSONError) {
        isAdministrator = false
        firesTriggers = true
        self.json = json
        auth = json.elementsEqual("null".utf8) ? nil : try RuleAuth(json: json)
    }

    private init(isAdministrator: Bool, firesTriggers: Bool = true) {
        self.isAdministrator = isAdministrator
        self.firesTriggers = firesTriggers
        json = Array("null".utf8)
        auth = nil
    }

    /// The user that the log notes with each change; empty without a user, and for administrators.
    package var uid: [UInt8] { auth?.uid ?? [] }

    package static let nobody = Principal(isAdministrator: false)
    package static let administrator = Principal(isAdministrator: true)
    /// An administrator whose writes make no events of triggers.
    package static let quietAdministrator = Principal(isAdministrator: true, firesTriggers: false)
    /// The server itself. As the rules and logs see it, an administrator.
    static let server = Principal(isAdministrator: true)

    package static func == (a: Principal, b: Principal) -> Bool {
        a === b || a.isAdministrator == b.isAdministrator && a.firesTriggers == b.firesTriggers && a.json == b.json
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(json) }
}

extension Principal {
    /// The form in which the log and stores keep it, and nodes send it to each other: the JSON text, empty without a
    /// user; of an administrator, whether writes make events.
    package var stored: [UInt8] {
        if isAdministrator { return Array((firesTriggers ? "true" : "false").utf8) }
        return auth == nil ? [] : json
    }

    /// The principal that ``stored`` was made of.
    package static func stored(_ bytes: [UInt8]) throws(StorageError) -> Principal {
        if bytes.isEmpty { return .nobody }
        if bytes.elementsEqual("true".utf8) { return .administrator }
        if bytes.elementsEqual("false".utf8) { return .quietAdministrator }
        do throws(JSONError) { return try Principal(auth: bytes) } catch { throw .damaged("not a principal") }
    }
}
