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
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
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
        try await judged(file) { (admin) throws(AdminError) in
            switch kind {
            case .rules: try await admin.checkRules(text)
            case .settings: try await admin.checkSettings(text)
            }
        }
        let database = session.target.url.database
        let what =
            "replace the \(kind.rawValue) of \(database.isEmpty ? "the default database" : database) by \(file)"
        session.announce(what)
        // A deployment pushes without asking.
        if session.prompter != nil { try session.confirm(what) }
        try await session.change(what, as: JSONObject(["file": .text(file), "kind": .text(kind.rawValue)])) {
            () async throws(ShellError) in
            try await judged(file) { (admin) throws(AdminError) in
                switch kind {
                case .rules: try await admin.setRules(text)
                case .settings: try await admin.setSettings(text)
                }
            }
        }
    }

    private func contents(of file: String) throws(ShellError) -> [UInt8] {
        if file == "-" { try session.expectInput() }
        return try InputFile.contents(of: file)
    }

    /// Runs checks that find mistakes in a file.
    private func judged(
        _ file: String, _ body: (Administrator) async throws(AdminError) -> Void
    ) async throws(ShellError) {
        do throws(AdminError) { try await body(try session.administrator(AdminOptions())) } catch {
            throw error.code == .invalidRules ? .data("\(file):\(error.message)") : session.described(error)
        }
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
