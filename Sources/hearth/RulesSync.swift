import Glibc
import HearthAdmin
import HearthClient
import HearthShell

/// The rules of a server beside those of a file: `hearth rules pull`, `push` and `diff`.
struct RulesSync {
    private let run: ClientRun
    private let database: String?

    init(_ verb: String, _ arguments: Arguments) throws(UsageError) {
        run = ClientRun("rules \(verb)", try ServerAddress(arguments, url: arguments["server"], named: "--server"))
        database = run.address.url.database.isEmpty ? nil : run.address.url.database
    }

    /// Writes the rules in force as they were published.
    func pull(_ file: String?) throws(RulesCommandError) -> ExitCode {
        let output: OutputFile
        do throws(ShellError) { output = try OutputFile(file) } catch { throw .usage(error.message ?? "") }
        let (run, database) = (run, database)
        return run.administer(AdminOptions()) { admin throws(AdminError) in
            do throws(AdminError) {
                guard output.write(Array(try await admin.rules(ofDatabase: database).utf8)) else { return .failure }
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

    /// Puts the rules of a file in force. A mistake changes nothing.
    ///
    /// - parameter isSure: whether not to ask at a terminal.
    func push(_ file: String, isSure: Bool) throws(RulesCommandError) -> ExitCode {
        let text = String(decoding: try Command.contents(of: file), as: UTF8.self)
        let (run, database) = (run, database)
        return run.administer(AdminOptions()) { admin throws(AdminError) in
            do throws(AdminError) {
                try await admin.checkRules(text, ofDatabase: database)
                run.announce("replace the rules of \(database ?? "the default database") by \(file)")
                guard isSure || isatty(STDIN_FILENO) == 0 || Self.isConfirmed() else {
                    return run.complain("nothing was done", .failure)
                }
                try await admin.setRules(text, ofDatabase: database)
                return .success
            } catch {
                guard error.code == .invalidRules else { throw error }
                return run.complain("\(file):\(error.message)", .data)
            }
        }
    }

    private static func isConfirmed() -> Bool {
        StandardError.write("Continue? y/n ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }

    /// Prints what a push would change. Ends with 0 if nothing.
    func compare(with file: String) throws(RulesCommandError) -> ExitCode {
        let text = String(decoding: try Command.contents(of: file), as: UTF8.self)
        let database = database
        return run.administer(AdminOptions()) { admin throws(AdminError) in
            let lines = LineDifference.lines(from: try await admin.rules(ofDatabase: database), to: text)
            for line in lines { StandardOutput.line(line.printable) }
            return lines.isEmpty ? .success : .failure
        }
    }
}
