import CHearthLinux
import Glibc
package import HearthSystem

/// The process's handling of signals.
package enum Signals {
    /// Calls `action` on the loop for each of these signals that arrives from now on, instead of the earlier action.
    /// When the loop begins to shut down they get their default action back, so a second Ctrl-C ends a process that
    /// takes long to end.
    ///
    /// One call serves the process: after another one, all signals go to the last loop.
    package static func forward(
        _ signals: [Int32], to loop: EventLoop, _ action: @escaping @Sendable (_ signal: Int32) -> Void
    ) throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        _ = try SystemError.check(linux_pipe(&ends), "make a pipe")
        // Neither end is ever closed: a signal handler may be about to write.
        let source = SignalSource(signals: signals, descriptor: ends[0], action: action)
        for signal in signals {
            _ = try SystemError.check(linux_signal_to_pipe(signal, ends[1]), "catch signal \(signal)")
        }
        loop.execute { source.begin(on: loop) }
    }

    /// Makes writing to a pipe or socket without a reader, or to a file that may not grow (`ulimit -f`), only an error,
    /// in the whole process. The loops do not need this for their own threads.
    package static func ignoreFailedWrites() {
        for signal in [SIGPIPE, SIGXFSZ] { _ = linux_signal_ignore(signal) }
    }
}

/// The reading end of the pipe that the signal handler writes to.
private final class SignalSource: @unchecked Sendable, Pollable {
    // Safe because: after it was made, only the loop's thread touches it.
    private let signals: [Int32]
    private let descriptor: Int32
    private let action: @Sendable (Int32) -> Void
    private var loop: EventLoop?
    private var token: Poller.Token?

    init(signals: [Int32], descriptor: Int32, action: @escaping @Sendable (Int32) -> Void) {
        self.signals = signals
        self.descriptor = descriptor
        self.action = action
    }

    func begin(on loop: EventLoop) {
        self.loop = loop
        token = try? loop.poller.add(self, descriptor, .readable)
        if loop.isShuttingDown || token == nil { shutdownRequested() }
    }

    func ready(_ readiness: Readiness) {
        var numbers: [UInt8] = .init(repeating: 0, count: 64)
        let count = linux_read(descriptor, &numbers, numbers.count)
        for number in numbers.prefix(max(count, 0)) { action(Int32(number)) }
    }

    func shutdownRequested() {
        for signal in signals { _ = linux_signal_default(signal) }
        if let token { loop?.poller.remove(token) }
        token = nil
        loop = nil
    }
}
