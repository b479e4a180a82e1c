import HearthClientSession
import HearthHTTPCodec
import HearthConnection
import HearthClient
import HearthJSONValues

/// The security rules and the settings of databases (administration.md 1).
extension Administrator {
    /// The rules in force, as published, including comments.
    ///
    /// - parameter database: its name; nil for the server's default database.
    /// - throws: `notForAdministrators`, `unauthenticated`, `unavailable`, `cancelled`, like the other methods.
    public func rules(ofDatabase database: String? = nil) async throws(AdminError) -> String {
        String(decoding: try await requests.answer(.get, target("rules", database)).content(), as: UTF8.self)
    }

    /// Replaces the rules of a database permanently. Rules with a mistake change nothing.
    ///
    /// - throws: `invalidRules`; as ``rules(ofDatabase:)``.
    public func setRules(_ text: String, ofDatabase database: String? = nil) async throws(AdminError) {
        try await put(text, target("rules", database))
    }

    /// Has the server validate rules, without changing anything.
    ///
    /// - throws: `invalidRules`; as ``rules(ofDatabase:)``.
    public func checkRules(_ text: String, ofDatabase database: String? = nil) async throws(AdminError) {
        try await check(text, target("rules", database))
    }

    /// The settings in force, as published, including comments.
    ///
    /// - throws: as ``rules(ofDatabase:)``.
    public func settings(ofDatabase database: String? = nil) async throws(AdminError) -> String {
        String(decoding: try await requests.answer(.get, target("settings", database)).content(), as: UTF8.self)
    }

    /// Replaces the settings of a database permanently. Settings with a mistake change nothing.
    ///
    /// - throws: `invalidRules`; as ``rules(ofDatabase:)``.
    public func setSettings(_ text: String, ofDatabase database: String? = nil) async throws(AdminError) {
        try await put(text, target("settings", database))
    }

    /// Restores the settings of the server's file, after ``setSettings(_:ofDatabase:)``. A cluster refuses this: set
    /// the wanted settings instead.
    ///
    /// - throws: as ``rules(ofDatabase:)``.
    public func removeSettings(ofDatabase database: String? = nil) async throws(AdminError) {
        _ = try await requests.answer(.delete, target("settings", database)).content()
    }

    /// Has the server validate settings, without changing anything.
    ///
    /// - throws: `invalidRules`; as ``rules(ofDatabase:)``.
    public func checkSettings(_ text: String, ofDatabase database: String? = nil) async throws(AdminError) {
        try await check(text, target("settings", database))
    }

    /// Replaces the rules and the settings of a database in one step, permanently. A mistake in either changes nothing.
    /// The message of an error begins with `rules:` or `settings:`, the line and the column.
    ///
    /// - throws: `invalidRules`; as ``rules(ofDatabase:)``.
    public func setRules(
        _ rules: String, settings: String, ofDatabase database: String? = nil
    ) async throws(AdminError) {
        try await put(both(rules, settings), target("rules-and-settings", database))
    }

    /// Has the server validate rules and settings, without changing anything.
    ///
    /// - throws: `invalidRules`, as ``setRules(_:settings:ofDatabase:)``; as ``rules(ofDatabase:)``.
    public func checkRules(
        _ rules: String, settings: String, ofDatabase database: String? = nil
    ) async throws(AdminError) {
        try await check(both(rules, settings), target("rules-and-settings", database))
    }

    private func both(_ rules: String, _ settings: String) -> String {
        String(decoding: JSONObject(["rules": .text(rules), "settings": .text(settings)]).bytes, as: UTF8.self)
    }

    private func check(_ text: String, _ target: String) async throws(AdminError) {
        try await put(text, target + (target.contains("?") ? "&" : "?") + "dryRun=true")
    }

    private func put(_ text: String, _ target: String) async throws(AdminError) {
        let answer = try await requests.answer(.put, target, Array(text.utf8))
        if answer.status == .badRequest { throw AdminError(.invalidRules, answer.message) }
        _ = try answer.content()
    }

    private func target(_ name: String, _ database: String?) -> String {
        var url = requests.requests.url
        if let database { url.database = database }
        return url.settings(name)
    }
}
