import HearthClientSession
import Glibc
import HearthClient
import Synchronization
import HearthSystem

/// Runs a shell: commands from a terminal, a script, or the command line.
package final class Shell: Sendable {
    /// How it ended, for scripts: the exit codes of the program (sysexits.h).
    package enum Outcome: Int32, Sendable {
        case success = 0
        /// A command failed; nothing after it was run.
        case failure = 1
        /// A command was not valid.
        case usage = 64
        /// The contents of a file or standard input are invalid.
        case data = 65
        /// The server cannot be reached, or the connection was lost.
        case unavailable = 69
        /// SIGINT has ended a command, as shells say it.
        case interrupted = 130
        /// SIGTERM has ended a command, as shells say it.
        case terminated = 143

        /// Nil for a command that was interrupted, or whose pages were closed early.
        init?(_ error: ShellError) {
            switch error {
            case .usage: self = .usage
            case .data: self = .data
            case .failed, .negative: self = .failure
            case .lost: self = .unavailable
            case .givenUp: self = .interrupted
            case .stopped: return nil
            }
        }
    }

    private let session: ShellSession
    /// The operation that ^C ends, and how the last one ended.
    private let running = Mutex<(task: Task<Void, Never>?, end: Outcome?)>((nil, nil))
    /// The last operation; it may continue after a completion that took too long.
    private let last = Mutex<Task<Void, Never>?>(nil)

    package init(_ session: ShellSession) { self.session = session }

    /// Ends the command that runs. That is its outcome, unless it is over already.
    package func end(_ outcome: Outcome) {
        running.withLock { running in
            running.task?.cancel()
            running.end = outcome
        }
    }

    // MARK: Scripts

    /// Runs one command that is taken apart already.
    package func run(_ words: [Word]) -> Outcome {
        wait { await self.perform { (session) throws(ShellError) in try await session.run(words) } }
    }

    /// Runs one command as a command of the program.
    package func run(_ command: ShellCommand, _ arguments: ShellArguments) -> Outcome {
        let program = session.program.map { "hearth \($0): " } ?? ""
        return wait {
            await self.perform({ program + $0 }) { (session) throws(ShellError) in
                try await session.run(command, arguments)
            }
        }
    }

    /// Runs the lines of a script up to the first that fails.
    package func run(script lines: AnySequence<String>, name: String) -> Outcome {
        for (index, line) in lines.enumerated() {
            let outcome = run(line: line) { "\(name):\(index + 1): \($0)" }
            if outcome != .success || session.isOver { return outcome }
            if let end = running.withLock({ $0.end }) { return end }
        }
        return .success
    }

    /// Runs one line.
    ///
    /// - parameter describe: adds the line's position to an error.
    package func run(line: String, describe: @escaping @Sendable (String) -> String = { $0 }) -> Outcome {
        let words: [Word]
        do throws(ShellError) { words = try ShellWords.split(line) } catch {
            session.out.writeError(describe(error.message ?? ""))
            return .usage
        }
        return wait { await self.perform(describe) { (session) throws(ShellError) in try await session.run(words) } }
    }

    private func perform(
        _ describe: @Sendable (String) -> String = { $0 },
        _ body: (ShellSession) async throws(ShellError) -> Void
    ) async -> Outcome {
        session.out.begin()
        defer { session.out.end() }
        do throws(ShellError) {
            try await body(session)
            leaveLine()
            return .success
        } catch {
            leaveLine()
            if let message = error.message { session.out.writeError(describe(message)) }
            return Outcome(error) ?? running.withLock { $0.end } ?? .success
        }
    }

    /// After the ^C that the terminal shows.
    private func leaveLine() { if Task.isCancelled, session.out.columns != nil { StandardOutput.control("\n") } }

    // MARK: The terminal

    /// Reads commands from a terminal until its end.
    ///
    /// - parameter history: the file of the input history; nil for none.
    package func interact(history: String?) -> Outcome {
        let completer = Completer(session: session)
        let editor = LineEditor(historyFile: history) { line in
            self.wait(atMost: Self.completionPatience) { await completer.candidates(line) } ?? .none
        }
        guard let editor else { return run(script: AnySequence { AnyIterator { readLine() } }, name: "input") }
        while !session.isOver {
            switch editor.read(prompt: prompt, isColoured: session.out.isColoured) {
            case .end:
                StandardOutput.control("\n")
                return .success
            case .interrupted: continue
            case .text(let line):
                if line.allSatisfy(\.isWhitespace) { continue }
                // Others may read the file over somebody's shoulder.
                if !ShellCommand.secretOptions.contains(where: { line.contains("--\($0)") }) { editor.remember(line) }
                _ = run(line: line)
            }
        }
        return .success
    }

    var prompt: [(text: String, style: Style?)] {
        let server = session.target.url.database
        var parts: [(String, Style?)] = [
            (server.isEmpty ? "hearth" : server, .strong), ("\(session.place)".printable, .key),
        ]
        if let acting = session.acting { parts.append((" as \(acting.name.printable)", .number)) }
        if session.isDry { parts.append((" dry", .number)) }
        return parts + [("> ", nil)]
    }

    /// The time limit for a completion.
    private static let completionPatience = Duration.seconds(2)

    private func wait(_ work: @escaping @Sendable () async -> Outcome) -> Outcome {
        wait(atMost: nil, work) ?? .failure
    }

    /// Waits for work that ^C ends, on the calling thread. Nil when the time is up.
    @discardableResult
    func wait<Value: Sendable>(
        atMost limit: Duration?, _ work: @escaping @Sendable () async -> Value
    ) -> Value? {
        let ended = Semaphore()
        let answer = Answer<Value>()
        running.withLock { $0.end = nil }
        let task = last.withLock { last in
            // The session serves one at a time.
            let task = Task { [last] in
                await last?.value
                let value = await work()
                answer.value.withLock { $0 = value }
                ended.signal()
            }
            last = task
            return task
        }
        running.withLock { running in
            running.task = task
            // It may have begun, and been interrupted, before.
            if running.end != nil { task.cancel() }
        }
        if let limit { if !ended.wait(atMost: limit) { task.cancel() } } else { ended.wait() }
        running.withLock { $0.task = nil }
        return answer.value.withLock { $0 }
    }

    private final class Answer<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }
}
