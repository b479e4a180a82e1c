import HearthShell
import HearthJSONTree
import HearthWireProtocol
import HearthClientSession
import HearthConnection

extension Command {
    static let export = Command(
        name: "export", synopsis: "PATH [FILE] [OPTIONS]",
        summary: "Write the value at a path as JSON, however large it is.",
        details: """
            PATH is /like/this or a whole URL, such as wss://HOST:PORT/like/this; / is the whole database.
            Without FILE the value goes to standard output.

            The value is that of one moment, whatever is written meanwhile. Priorities are shown as .priority,
            with .value beside those of leaves; 'hearth import' reads it. FILE gets its name when it is whole;
            until then it is FILE.part. Exit code 69 says that the connection was lost, and that what came so
            far is not all. A server gives up after a minute in which nothing is read.

            With --at the value is what was there at a moment, where its history is kept: up to 64 MiB.
            \(ShellCommand.aboutMoments)
            """,
        options: ServerAddress.options + [
            .init(name: "pretty", value: nil, help: "laid out in lines"),
            .init(name: "at", value: "MOMENT", help: "what was there then, where the history is kept"),
        ]
    ) { arguments throws(UsageError) in
        guard (1...2).contains(arguments.positional.count) else {
            throw UsageError(message: "needs PATH, and FILE or none")
        }
        let run = try ClientRun("export", arguments, at: arguments.positional[0])
        let file = arguments.positional.count > 1 ? arguments.positional[1] : nil
        let output = try UsageError.of { () throws(ShellError) in try OutputFile(file) }
        let moment = try arguments["at"].map { (text) throws(UsageError) in
            guard let moment = HistoryRequest.Moment(parsing: text) else {
                throw UsageError(message: "'\(text)' is no moment")
            }
            return moment
        }
        let query = "format=export" + (arguments.flag("pretty") ? "&print=pretty" : "")
        // A pipe that nobody reads holds the loop up, and signals with it: there they end the command at once.
        return run.onLoop(endsOnSignal: output.isFile) { loop throws(ConnectionError) in
            let progress = Progress("export", isWanted: output.isFile || !StandardOutput.isTerminal)
            do throws(ConnectionError) {
                let call = try await run.request(query: query, at: moment, on: loop)
                try await Download.run(call, on: loop, options: run.address.options) { bytes in
                    progress.add(bytes.count)
                    return output.write(bytes)
                }
            } catch {
                progress.end()
                output.discard()
                if let failure = output.failure { return run.complain(failure, .failure) }
                if case .cancelled = error { return run.complain("interrupted", .failure) }
                if moment != nil, case .refused("HTTP 404", let text) = error {
                    return run.complain("\(text): '.history' in the settings says where it is kept", .failure)
                }
                throw error
            }
            progress.end()
            do throws(ShellError) { _ = try output.finish() } catch {
                return run.complain(error.message ?? "", .failure)
            }
            return .success
        }
    }
}
