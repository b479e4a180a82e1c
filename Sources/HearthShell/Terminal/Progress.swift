import Glibc
import Synchronization
import HearthSystem

/// Tells on a terminal how far a long command has come: one line on standard error, written over again and again. Says
/// nothing where standard error is not a terminal.
package final class Progress: Sendable {
    private struct State {
        var bytes = 0
        var lastShown: MonotonicTime
    }

    private let label: String
    /// Bytes there are altogether, if that is known.
    private let total: Int?
    private let started = MonotonicTime.current
    private let state: Mutex<State>
    private let isOn: Bool

    private static let interval = Duration.milliseconds(200)

    /// - parameter isWanted: false if the line would mix with other output.
    package init(_ label: String, total: Int? = nil, isWanted: Bool = true) {
        isOn = isWanted && isatty(STDERR_FILENO) == 1
        self.label = label
        self.total = total
        state = Mutex(State(lastShown: started))
    }

    /// More bytes are done.
    package func add(_ bytes: Int) {
        guard isOn else { return }
        state.withLock { state in
            state.bytes += bytes
            let now = MonotonicTime.current
            if now - state.lastShown < Progress.interval { return }
            state.lastShown = now
            show(&state, now)
        }
    }

    /// So many bytes are done.
    package func reach(_ bytes: Int) { add(bytes - state.withLock { $0.bytes }) }

    /// Ends the line. To be called before anything else is written to the terminal.
    package func end() {
        guard isOn else { return }
        state.withLock { state in
            show(&state, MonotonicTime.current)
            StandardError.write("\n")
        }
    }

    private func show(_ state: inout State, _ now: MonotonicTime) {
        let seconds = max((now - started) / .seconds(1), 0.001)
        let rate = ByteText(Int(Double(state.bytes) / seconds))
        var line = "\(label): "
        if let total, total > 0 {
            let part = min(Double(state.bytes) / Double(total), 1)
            let filled = Int(part * 30)
            let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled)
            line += "[\(bar)] \(Int(part * 100))%  \(ByteText(state.bytes)) of \(ByteText(total))"
        } else {
            line += "\(ByteText(state.bytes))"
        }
        // The rest of a longer line goes.
        StandardError.write("\r\(line)  \(rate)/s\u{1B}[K")
    }
}
