import HearthClientSession

/// `hearth serve` in a process of its own, ready. In development mode, unless it is told otherwise.
struct ServerProcess: Sendable {
    let process: HearthProcess
    /// Host and port.
    let address: String

    struct NotStarted: Error {
        var outcome: HearthProcess.Outcome
    }

    init(_ folder: String, isDevelopment: Bool = true, _ words: String...) async throws {
        process = try HearthProcess(
            ["serve", "--data", folder, "--listen", "127.0.0.1:0", "--log-level", "warning"]
                + (isDevelopment ? ["--dev"] : []) + words)
        let ready = "hearth: ready on "
        while let line = await process.line() {
            guard line.hasPrefix(ready) else { continue }
            address = String(line.dropFirst(ready.count).dropLast())
            return
        }
        throw NotStarted(outcome: try await process.outcome())
    }

    func url(_ database: String = "") throws -> DatabaseURL { try DatabaseURL("ws://\(address)/?ns=\(database)") }
}
