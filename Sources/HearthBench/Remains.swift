import Glibc
import HearthSystem
import Synchronization

/// The processes and folders of the benchmarks that are not gone yet. SIGINT, SIGTERM and the end of the terminal end
/// these processes, remove these folders and then end the program.
enum Remains {
    private struct State {
        var processes: Set<Int32> = []
        var folders: Set<String> = []
        var isWatching = false
    }

    /// Held for ever once the program ends: nothing new begins then.
    private static let state = Mutex(State())

    /// Watches for the signals from now on. They must reach no other thread: the main thread calls this before it
    /// starts others.
    static func goOnSignals() throws(BenchError) {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        guard isFirst else { return }
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(signal) { sigaddset(&set, signal) }
        let code = pthread_sigmask(SIG_BLOCK, &set, nil)
        guard code == 0 else { throw BenchError("block signals", code: -Int(code)) }
        do throws(SystemError) {
            _ = try NamedThread(name: "signals") { [set] in
                var (set, signal) = (set, Int32(0))
                while sigwait(&set, &signal) != 0 {}
                state.withLock { state in
                    for process in state.processes { kill(process, SIGKILL) }
                    // A folder stays as long as something writes to it.
                    for process in state.processes { waitpid(process, nil, 0) }
                    for folder in state.folders { remove(folder) }
                    _exit(128 + signal)
                }
            }
        } catch {
            throw BenchError("start a thread: \(error)")
        }
    }

    /// As nohup(1), and a shell for programs in the background, have it.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Starts a process with `start`, which answers its number, or a negated `errno`.
    static func begin(_ start: () -> Int32) -> Int32 {
        state.withLock { state in
            let process = start()
            if process > 0 { state.processes.insert(process) }
            return process
        }
    }

    /// Looks whether a process has ended, with `waitpid`. Answers its status; nil if it runs.
    static func status(of process: Int32) -> Int32? {
        // While the lock is held, the number belongs to no other process yet.
        state.withLock { state in
            var status: Int32 = 0
            guard waitpid(process, &status, WNOHANG) != 0 else { return nil }
            state.processes.remove(process)
            return status
        }
    }

    /// Makes a folder with `make`, which answers its path, or nil.
    static func beginFolder(_ make: () -> String?) -> String? {
        state.withLock { state in
            let path = make()
            if let path { state.folders.insert(path) }
            return path
        }
    }

    /// Removes a folder with all that is in it.
    static func endFolder(_ path: String) {
        remove(path)
        _ = state.withLock { $0.folders.remove(path) }
    }

    private static func remove(_ path: String) {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            // A folder is not a file that could be unlinked.
            if unlink("\(path)/\(name)") != 0 { remove("\(path)/\(name)") }
        }
        closedir(folder)
        rmdir(path)
    }
}
