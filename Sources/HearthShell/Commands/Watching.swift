import HearthJSONTree
import HearthWireProtocol
import HearthClientSession
import HearthConnection

extension ShellCommand {
    static let watch = ShellCommand(
        name: "watch", synopsis: "[PATH] [OPTIONS]",
        summary: "Print a value, or what a query selects of it, then every change, until ^C.",
        json: #"{"type": "set" or "update", "path", "value"} for each change, with "time" if --time is given."#,
        details: """
            Each change is one line: what happened, where, and the new value.

              set /a/b {"c":1}           the value there is now this one; null if it was removed
              update /a {"b":2,"c/d":3}  several values at or below a path changed at once

            \(QueryWords.details) A child that is not selected any more is set to null, one that comes in
            is set as a whole.

            The command fails when the connection is lost. With --resume it comes back instead. What changed meanwhile is then
            one line with the values as they are now. When the server does not know what changed, and with a query always, the
            line is the whole value.
            """, words: .path,
        options: [
            .limit("end after N changes, the first value included"),
            .init(name: "time", letter: "t", value: nil, help: "begin each line with the time"),
            .init(name: "resume", letter: "r", value: nil, help: "come back when the connection is lost"),
        ] + QueryWords.options, runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let path = try session.path(arguments.words.first)
        let query = try arguments.query()
        let line = ChangeLine(isJSON: session.format.isJSON, clock: arguments.has("time") ? session.clock : nil)
        var watch = Watch(
            session: session, path: path, query: query, line: line, left: try arguments.count("limit") ?? .max)
        session.out.follow()
        do throws(Watch.Failure) {
            try await watch.run(resumes: arguments.has("resume"))
        } catch {
            switch error {
            case .connection(let error): throw session.described(error)
            case .output(let error): throw error
            }
        }
    }
}

/// Prints the changes of a place, over one connection after the other if that is wanted.
private struct Watch {
    enum Failure: Error {
        case connection(ConnectionError)
        case output(ShellError)
    }

    let session: ShellSession
    let path: Path
    let query: QueryObject?
    let line: ChangeLine
    /// Changes to print.
    var left: Int
    /// After all that was printed.
    private var position: [UInt8] = []
    private var wait = Self.waitMin

    private static let waitMin = Duration.milliseconds(250)
    private static let waitMax = Duration.seconds(10)

    init(session: ShellSession, path: Path, query: QueryObject?, line: ChangeLine, left: Int) {
        (self.session, self.path, self.query, self.line, self.left) = (session, path, query, line, left)
    }

    /// Ends when enough was printed, with ``ConnectionError/cancelled`` when the task is cancelled, or with an error
    /// that would come again. Other errors are told if the watch resumes.
    mutating func run(resumes: Bool) async throws(Failure) {
        while true {
            do throws(Failure) { return try await follow(isNew: resumes) } catch {
                guard resumes, case .connection(.disconnected(let reason)) = error else { throw error }
                switch reason {
                case .closed, .handshakeRefused, .killed, .redirected: throw error
                // If no server was reached yet, the address may be wrong.
                case .unreachable where position.isEmpty: throw error
                case .unreachable, .closedByServer, .lost, .silent: session.tell("\(reason); coming back")
                }
            }
            // Many that lost the same server do not come back at once.
            try? await Task.sleep(for: wait * Double.random(in: 0.5...1))
            if Task.isCancelled { throw .connection(.cancelled) }
            wait = min(wait * 2, Self.waitMax)
        }
    }

    /// - parameter isNew: over a separate connection, which is closed afterwards.
    private mutating func follow(isNew: Bool) async throws(Failure) {
        let connection: Connection
        let changes: Changes
        do throws(ConnectionError) {
            connection = try await (isNew ? session.connect() : session.dataConnection())
            changes = try await connection.listen(path, query: query, since: isNew ? position : nil)
        } catch {
            throw .connection(error)
        }
        wait = Self.waitMin
        defer {
            position = changes.position ?? position
            if isNew { connection.close() }
        }
        do {
            for try await change in changes {
                do throws(ShellError) {
                    try session.out.write(String(decoding: line.text(of: change), as: UTF8.self))
                } catch {
                    throw Failure.output(error)
                }
                left -= 1
                if left == 0 { return }
            }
            if Task.isCancelled { throw ConnectionError.cancelled }
        } catch let error as Failure {
            throw error
        } catch let error as ConnectionError {
            throw .connection(error)
        } catch {
            throw .output(.failed("\(error)"))
        }
    }
}
