import HearthClientTransport

/// Calls that wait for the server. Each fails when connecting has failed permanently, or when it times out. Lives on
/// the database's loop.
final class WaitingCallers {
    private struct Caller {
        let isAnswered: () -> Bool
        let fail: (DatabaseError) -> Void
        /// Nil without a limit, or with one of its own. The others have the same timeout, so these are in order.
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
    ///
    /// - parameter hasOwnTimeout: whether the call limits its time itself.
    func add(
        isAnswered: @escaping () -> Bool, hasOwnTimeout: Bool = false, fail: @escaping (DatabaseError) -> Void
    ) {
        if callers.count >= sweepCount { dropAnswered() }
        let deadline = hasOwnTimeout ? nil : timeout.map { loop.time + $0 }
        callers.append(Caller(isAnswered: isAnswered, fail: fail, deadline: deadline))
        if deadline != nil { armTimer() }
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
        guard !isTimerArmed, let deadline = callers.lazy.compactMap(\.deadline).first else { return }
        isTimerArmed = true
        loop.callLater(after: deadline - loop.time) { [weak self] in self?.expire() }
    }

    private func expire() {
        isTimerArmed = false
        dropAnswered()
        let isLate = { [now = loop.time] (caller: Caller) in caller.deadline.map { $0 <= now } ?? false }
        let late = callers.filter(isLate)
        callers.removeAll(where: isLate)
        if let timeout, !late.isEmpty {
            let error = DatabaseError.timedOut("no answer within \(timeout)\(reasonForWaiting())")
            for caller in late { caller.fail(error) }
        }
        armTimer()
    }
}
