import EventLoop
import HearthClient
import HearthServer
import HearthShell
import JSONTree
import WireProtocol

extension Command {
    static let watch = Command(
        name: "watch", synopsis: "PATH [OPTIONS]",
        summary: "Print the value at a path, or what a query selects of it, then every change, as they come.",
        details: """
            Each change is one line: what happened, where, and the new value.

              set /a/b {"c":1}           the value there is now this one; null if it was removed
              update /a {"b":2,"c/d":3}  several values at or below a path changed at once

            \(QueryOptions.details) A child that is not selected any more is set to null, one that comes in
            is set as a whole.

            Ends on SIGINT (Ctrl-C), and with exit code 69 when the connection is lost. With --resume it comes back instead.
            What changed meanwhile is then one line with the values as they are now. When the server does not know what changed,
            and with a query always, the line is the whole value.
            """,
        options: ServerAddress.options + QueryOptions.options + [
            .init(name: "json", value: nil, help: "each line is {\"type\":…,\"path\":…,\"value\":…}"),
            .init(name: "time", value: nil, help: "begin each line with the time"),
            .init(name: "resume", value: nil, help: "come back when the connection is lost"),
        ]
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH")
        let run = try ClientRun("watch", arguments)
        let path = try run.address.path(words[0])
        let query = try QueryOptions.query(arguments)
        let line = ChangeLine(isJSON: arguments.flag("json"), clock: arguments.flag("time") ? Self.clock : nil)
        guard arguments.flag("resume") else {
            return run(endsOnSignal: true) { connection throws(ConnectionError) in
                for try await change in try await connection.listen(path, query: query) {
                    guard StandardOutput.write(line.text(of: change)) else { return }
                }
            }
        }
        return run.onLoop(endsOnSignal: true) { loop throws(ConnectionError) in
            var watch = ResumingWatch(connect: run.connect, path: path, query: query, line: line)
            return try await watch.run(on: loop) { _ = run.complain("\($0); coming back", .unavailable) }
        }
    }
}

extension Command {
    private static let clock: @Sendable () -> String = { "\(Timestamp(milliseconds: WallClock.milliseconds))" }
}

/// A watch that outlives its connections.
private struct ResumingWatch {
    let connect: (EventLoop) async throws(ConnectionError) -> Connection
    let path: Path
    let query: QueryObject?
    let line: ChangeLine
    /// Behind all that was printed.
    private var position: [UInt8] = []
    private var wait = Self.waitMin

    private static let waitMin = Duration.milliseconds(250)
    private static let waitMax = Duration.seconds(10)

    init(
        connect: @escaping (EventLoop) async throws(ConnectionError) -> Connection, path: Path, query: QueryObject?,
        line: ChangeLine
    ) {
        self.connect = connect
        self.path = path
        self.query = query
        self.line = line
    }

    /// Ends when it is cancelled, or with an error that would come again. Others are told.
    mutating func run(
        on loop: EventLoop, tell: (ConnectionError) -> Void
    ) async throws(ConnectionError) -> ExitCode {
        while true {
            do throws(ConnectionError) {
                try await follow(try await connect(loop))
                return .success
            } catch {
                guard case .disconnected(let reason) = error else { throw error }
                switch reason {
                case .closed, .handshakeRefused, .killed, .redirected: throw error
                // Where nobody was reached yet, the address may be wrong.
                case .unreachable where position.isEmpty: throw error
                case .unreachable, .closedByServer, .lost, .silent: tell(error)
                }
            }
            // Many that lost the same server do not come back at once.
            try? await Task.sleep(for: wait * Double.random(in: 0.5...1))
            if Task.isCancelled { throw .cancelled }
            wait = min(wait * 2, Self.waitMax)
        }
    }

    private mutating func follow(_ connection: Connection) async throws(ConnectionError) {
        let changes = try await connection.listen(path, query: query, since: position)
        wait = Self.waitMin
        defer { position = changes.position ?? position }
        for try await change in changes { guard StandardOutput.write(line.text(of: change)) else { return } }
    }
}
