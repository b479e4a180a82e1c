import HearthAdmin
import HearthClientSession
import HearthJSONValues
import HearthSecurityRules

/// Pulls, pushes and compares the rules and settings of a server with those of a file.
struct RulesSync {
    enum Kind: String, Sendable {
        case rules
        case settings

        /// That of a file.
        init(of text: [UInt8]) { self = DatabaseSettings.isSettings(text) ? .settings : .rules }
    }

    private let session: ShellSession

    init(_ session: ShellSession) { self.session = session }

    private func asking<Value: Sendable>(
        _ body: (Administrator) async throws(AdminError) -> Value
    ) async throws(ShellError) -> Value {
        do throws(AdminError) { return try await body(try session.administrator(AdminOptions())) } catch {
            throw session.described(error)
        }
    }

    /// Those in force, as they were published.
    func text(_ kind: Kind) async throws(ShellError) -> String {
        try await asking { (admin) throws(AdminError) in
            switch kind {
            case .rules: try await admin.rules()
            case .settings: try await admin.settings()
            }
        }
    }

    /// Writes those in force.
    ///
    /// - parameters:
    ///   - file: nil or `-` for standard output.
    ///   - replaces: a file that is there already.
    func pull(_ kind: Kind, _ file: String?, replaces: Bool) async throws(ShellError) {
        guard let file, file != "-" else {
            let text = try await text(kind)
            return try session.show(.text(text)) {
                let lines = text.lines
                return lines.last == "" ? lines.dropLast() : lines
            }
        }
        let output = try OutputFile(file, replaces: replaces)
        do throws(ShellError) {
            guard output.write(Array(try await text(kind).utf8)) else { throw .failed(output.failure ?? "") }
            try session.report(output, try output.finish())
        } catch {
            output.discard()
            throw error
        }
    }

    /// Puts those of a file in force. A mistake changes nothing.
    func push(_ file: String) async throws(ShellError) {
        let contents = try contents(of: file)
        let (kind, text) = (Kind(of: contents), String(decoding: contents, as: UTF8.self))
        let answer = JSONObject(["file": .text(file), "kind": .text(kind.rawValue)])
        try await replace(kind.rawValue, by: file, answer) { (admin, isCheck) throws(AdminError) in
            switch (kind, isCheck) {
            case (.rules, true): try await admin.checkRules(text)
            case (.rules, false): try await admin.setRules(text)
            case (.settings, true): try await admin.checkSettings(text)
            case (.settings, false): try await admin.setSettings(text)
            }
        } place: { message in
            "\(file):\(message)"
        }
    }

    /// Puts the rules of a file and the settings of another in force in one step. A mistake changes nothing.
    func push(rules: String, settings: String) async throws(ShellError) {
        func text(_ file: String, _ kind: Kind) throws(ShellError) -> String {
            let contents = try contents(of: file)
            guard Kind(of: contents) == kind else { throw .data("\(file): this is not a file of \(kind.rawValue)") }
            return String(decoding: contents, as: UTF8.self)
        }
        let (rulesText, settingsText) = (try text(rules, .rules), try text(settings, .settings))
        let answer = JSONObject([
            "file": .text(rules), "kind": .text(Kind.rules.rawValue), "settings": .text(settings),
        ])
        try await replace("rules and settings", by: "\(rules) and \(settings)", answer) {
            (admin, isCheck) throws(AdminError) in
            if isCheck {
                try await admin.checkRules(rulesText, settings: settingsText)
            } else {
                try await admin.setRules(rulesText, settings: settingsText)
            }
        } place: { message in
            for (kind, file) in [(Kind.rules, rules), (.settings, settings)] where message.hasPrefix("\(kind):") {
                return file + message.dropFirst(kind.rawValue.count)
            }
            return message
        }
    }

    /// Has the server check them, asks whether it is meant, and replaces them.
    ///
    /// - parameter place: names the file with a mistake instead of the kind of text.
    private func replace(
        _ kind: String, by files: String, _ answer: JSONObject,
        _ body: (_ admin: Administrator, _ isCheck: Bool) async throws(AdminError) -> Void,
        place: (String) -> String
    ) async throws(ShellError) {
        func judged(isCheck: Bool) async throws(ShellError) {
            do throws(AdminError) { try await body(try session.administrator(AdminOptions()), isCheck) } catch {
                throw error.code == .invalidRules ? .data(place(error.message)) : session.described(error)
            }
        }
        try await judged(isCheck: true)
        let database = session.target.url.database
        let what = "replace the \(kind) of \(database.isEmpty ? "the default database" : database) by \(files)"
        session.announce(what)
        // A deployment pushes without asking.
        if session.prompter != nil { try session.confirm(what) }
        try await session.change(what, as: answer) { () async throws(ShellError) in try await judged(isCheck: false) }
    }

    private func contents(of file: String) throws(ShellError) -> [UInt8] {
        if file == "-" { try session.expectInput() }
        return try InputFile.contents(of: file)
    }

    /// Prints the changes that a push would make.
    func compare(with file: String) async throws(ShellError) {
        let contents = try contents(of: file)
        let lines = LineDifference.lines(
            from: try await text(Kind(of: contents)), to: String(decoding: contents, as: UTF8.self))
        try session.show(.array(lines.map { .text($0) })) { lines.map(\.printable) }
        if !lines.isEmpty { throw .negative }
    }
}
