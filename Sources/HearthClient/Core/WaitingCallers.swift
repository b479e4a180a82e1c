import HearthClientTransport

/// Calls that wait for the server: each is told when an attempt to connect fails for good, and when its time is over.
/// Lives on the database's loop.
final class WaitingCallers {
    private struct Caller {
        let isAnswered: () -> Bool
        let fail: (DatabaseError) -> Void
        /// Nil if it waits for ever. All wait equally long, so these are in order.
        let deadline: Duration?
    }

    private let loop: any ClientLoop
    private let timeout: Duration?
    /// What to tell callers whose time is over.
    var reasonForWaiting: () -> String = { "" }
    private var callers: [Caller] = []
    private var isTimerArmed = false
    /// With so many callers those that were answered are dropped.
    private var sweepCount = 64

    init(loop: any ClientLoop, timeout: Duration?) {
        self.loop = loop
        self.timeout = timeout
    }

    /// Costs about nothing per call.
    func add(isAnswered: @escaping () -> Bool, fail: @escaping (DatabaseError) -> Void) {
        if callers.count >= sweepCount { dropAnswered() }
        callers.append(Caller(isAnswered: isAnswered, fail: fail, deadline: timeout.map { loop.time + $0 }))
        armTimer()
    }

    private func dropAnswered() {
        callers.removeAll { $0.isAnswered() }
        sweepCount = max(64, 2 * callers.count)
    }

    func failAll(_ error: DatabaseError) {
        let all = callers
        callers = []
        for caller in all { caller.fail(error) }
    }

    private func armTimer() {
        guard !isTimerArmed, let deadline = callers.first?.deadline else { return }
        isTimerArmed = true
        loop.callLater(after: deadline - loop.time) { [weak self] in self?.expire() }
    }

    private func expire() {
        isTimerArmed = false
        dropAnswered()
        let late = callers.prefix { $0.deadline.map { $0 <= loop.time } ?? false }
        callers.removeFirst(late.count)
        if let timeout, !late.isEmpty {
            let error = DatabaseError.timedOut("no answer within \(timeout)\(reasonForWaiting())")
            for caller in late { caller.fail(error) }
        }
        armTimer()
    }
}
