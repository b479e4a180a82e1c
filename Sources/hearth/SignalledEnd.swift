import Glibc
import HearthEventLoop
import HearthShell
import HearthSystem
import HearthTreeStorage

/// How commands that write files of their own end when they are told to.
enum SignalledEnd {
    /// From now on ^C, SIGTERM and the end of the terminal remove unfinished files first. Writing to a file that may
    /// not grow is an error and nothing else.
    static func removesFiles() throws(UsageError) {
        do throws(SystemError) {
            let loop = try EventLoop(name: "signals")
            try loop.start()
            try Signals.forward([SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP]), to: loop) { signal in
                UnfinishedFiles.removeAll(exitCode: 128 + signal)
            }
            Signals.ignoreFailedWrites()
        } catch {
            throw UsageError(message: "\(error)", hasHelp: false)
        }
    }

    /// As nohup(1) does.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
