import HearthClientTransport

/// Calls that wait for the server. Each fails when connecting has failed permanently, or when it times out. Lives on
/// the database's loop.
final class WaitingCallers {
    private struct Caller {
        let isAnswered: () -> Bool
        let fail: (DatabaseError) -> Void
        /// Nil without a limit. All have the same timeout, so these are in order.
        let deadline: Duration?
    }

    private let loop: any ClientLoop
    private let timeout: Duration?
    /// The error for callers that time out.
    var reasonForWaiting: () -> String = { "" }
    private var callers: [Caller] = []
    private var isTimerArmed = false
    /// At this number of callers, answered ones are removed.
    private var sweepCount = 64

    init(loop: any ClientLoop, timeout: Duration?) {
        self.loop = loop
        self.timeout = timeout
    }

    /// The cost per call is negligible.
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
