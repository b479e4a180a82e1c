package import HearthClientSession

/// `hearth serve` in a process of its own, ready. In development mode, unless it is told otherwise.
package struct ServerProcess: Sendable {
    package let process: HearthProcess
    /// Host and port.
    package let address: String

    package struct NotStarted: Error {
        package var outcome: HearthProcess.Outcome

        package init(outcome: HearthProcess.Outcome) { self.outcome = outcome }
    }

    package init(
        _ folder: String, isDevelopment: Bool = true, _ words: String..., environment: [String: String] = [:]
    ) async throws {
        process = try HearthProcess(
            ["serve", "--data", folder, "--listen", "127.0.0.1:0", "--log-level", "warning"]
                + (isDevelopment ? ["--dev"] : []) + words,
            environment: environment)
        let ready = "hearth: ready on "
        while let line = await process.line() {
            guard line.hasPrefix(ready) else { continue }
            address = String(line.dropFirst(ready.count).dropLast())
            return
        }
        throw NotStarted(outcome: try await process.outcome())
    }

    package func url(_ database: String = "") throws -> DatabaseURL {
        try DatabaseURL("ws://\(address)/?ns=\(database)")
    }
}
