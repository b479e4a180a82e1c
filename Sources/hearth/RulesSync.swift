import Glibc
import HearthAdmin
import HearthClientSession
import HearthShell
import HearthSecurityRules

/// The rules and settings of a server beside those of a file: `hearth rules pull`, `push` and `diff`.
struct RulesSync {
    enum Kind: String, Sendable {
        case rules
        case settings

        /// That of a file.
        init(of text: [UInt8]) { self = DatabaseSettings.isSettings(text) ? .settings : .rules }

        fileprivate func text(
            of database: String?, _ admin: Administrator
        ) async throws(AdminError) -> String {
            switch self {
            case .rules: try await admin.rules(ofDatabase: database)
            case .settings: try await admin.settings(ofDatabase: database)
            }
        }
    }

    private let run: ClientRun
    private let database: String?

    init(_ verb: String, _ arguments: Arguments) throws(UsageError) {
        run = ClientRun("rules \(verb)", try ServerAddress(arguments, url: arguments["server"], named: "--server"))
        database = run.address.url.database.isEmpty ? nil : run.address.url.database
    }

    /// Writes the rules or settings in force as they were published.
    func pull(_ kind: Kind, _ file: String?) throws(RulesCommandError) -> ExitCode {
        let output: OutputFile
        do throws(ShellError) { output = try OutputFile(file) } catch { throw .usage(error.message ?? "") }
        let (run, database) = (run, database)
        return run.administer(AdminOptions()) { admin throws(AdminError) in
            do throws(AdminError) {
                guard output.write(Array(try await kind.text(of: database, admin).utf8)) else { return .failure }
            } catch {
                output.discard()
                throw error
            }
            do throws(ShellError) { _ = try output.finish() } catch {
                return run.complain(error.message ?? "", .failure)
            }
            return .success
        }
    }

    /// Puts the rules or settings of a file in force. A mistake changes nothing.
    ///
    /// - parameter isSure: whether not to ask at a terminal.
    func push(_ file: String, isSure: Bool) throws(RulesCommandError) -> ExitCode {
        let contents = try Command.contents(of: file)
        let (kind, text) = (Kind(of: contents), String(decoding: contents, as: UTF8.self))
        let (run, database) = (run, database)
        return run.administer(AdminOptions()) { admin throws(AdminError) in
            do throws(AdminError) {
                switch kind {
                case .rules: try await admin.checkRules(text, ofDatabase: database)
                case .settings: try await admin.checkSettings(text, ofDatabase: database)
                }
                run.announce("replace the \(kind.rawValue) of \(database ?? "the default database") by \(file)")
                // A deployment pushes without asking.
                if let refusal = run.refusal(isSure: isSure || isatty(STDIN_FILENO) == 0) { return refusal }
                switch kind {
                case .rules: try await admin.setRules(text, ofDatabase: database)
                case .settings: try await admin.setSettings(text, ofDatabase: database)
                }
                return .success
            } catch {
                guard error.code == .invalidRules else { throw error }
                return run.complain("\(file):\(error.message)", .data)
            }
        }
    }

    /// Prints what a push would change. Ends with 0 if nothing.
    func compare(with file: String) throws(RulesCommandError) -> ExitCode {
        let contents = try Command.contents(of: file)
        let (kind, text) = (Kind(of: contents), String(decoding: contents, as: UTF8.self))
        let database = database
        return run.administer(AdminOptions()) { admin throws(AdminError) in
            let lines = LineDifference.lines(from: try await kind.text(of: database, admin), to: text)
            for line in lines { StandardOutput.line(line.printable) }
            return lines.isEmpty ? .success : .failure
        }
    }
}
