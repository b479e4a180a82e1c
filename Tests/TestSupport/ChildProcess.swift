import Glibc
import Synchronization
package import HearthSystem

/// A process that a test has started. A thread waits for its end and collects it at once: the library that runs the
/// tests watches for ended processes too, and spins as long as one is left uncollected.
package final class ChildProcess: Sendable {
    private struct State {
        /// As `waitpid` gives it; nil while the process runs.
        var status: Int32?
        var waiters: [CheckedContinuation<Int32, Never>] = []
    }

    private final class End: Sendable { let state = Mutex(State()) }

    /// Its number, which may be another's after its end.
    package let number: Int32
    private let end: End
    private let collector: NamedThread

    /// - parameter number: a process without other waiters.
    package init(_ number: Int32) throws(SystemError) {
        self.number = number
        let end = End()
        self.end = end
        collector = try NamedThread(name: "collector") {
            // It is left uncollected until the lock is held, so that no signal is sent to another process.
            var info = siginfo_t()
            while waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            let (status, waiters) = end.state.withLock { state in
                var status: Int32 = 0
                while waitpid(number, &status, 0) < 0, errno == EINTR {}
                state.status = status
                defer { state.waiters = [] }
                return (status, state.waiters)
            }
            for waiter in waiters { waiter.resume(returning: status) }
        }
    }

    /// Starts a program, which is looked for in the usual folders if its name has no slash.
    ///
    /// - parameter output: the file to which it appends what it says; nil for this process's own output.
    /// - parameter input: what it reads; nil for nothing.
    package static func start(_ words: [String], output: String? = nil, input: Int32? = nil) throws -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        } else {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        }
        for descriptor in output == nil ? [] : [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(
                &actions, descriptor, output ?? "", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }
        var strings = words.map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, words[0], &actions, nil, &strings, environ)
        guard code == 0 else { throw SystemError("start \(words[0])", code: code) }
        return try ChildProcess(process)
    }

    /// Runs a program to its end, on this thread.
    package static func run(_ words: [String], output: String? = nil) throws -> Int32 {
        let process = try start(words, output: output)
        process.collector.join()
        return exitCode(process.end.state.withLock { $0.status ?? 0 })
    }

    package var hasEnded: Bool { end.state.withLock { $0.status != nil } }

    /// Sends a signal, unless it has ended.
    package func signal(_ signal: Int32) {
        end.state.withLock { if $0.status == nil { Glibc.kill(number, signal) } }
    }

    /// Ends it as a loss of power would, except that the system's caches stay. Returns after its end.
    package func kill() {
        signal(SIGCONT)
        signal(SIGKILL)
        collector.join()
    }

    /// Waits for its end.
    ///
    /// - returns: the exit code, or the signal that ended it as a negative number.
    package func exitCode() async -> Int32 {
        let status = await withCheckedContinuation { continuation in
            let status = end.state.withLock { state in
                if state.status == nil { state.waiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
        return Self.exitCode(status)
    }

    private static func exitCode(_ status: Int32) -> Int32 {
        status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    }
}
