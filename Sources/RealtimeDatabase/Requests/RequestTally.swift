import Synchronization

/// Counts the requests to databases and their outcomes. Several databases, on any threads, may share one.
package final class RequestTally: Sendable {
    /// How it ended. Only `unavailable` is the server's fault.
    package enum Outcome: Int, CaseIterable, Sendable {
        case ok, denied, conflict, invalid, unavailable

        package var name: StaticString {
            switch self {
            case .ok: "ok"
            case .denied: "denied"
            case .conflict: "conflict"
            case .invalid: "invalid"
            case .unavailable: "unavailable"
            }
        }
    }

    // Safe because: the memory lives as long as the object and holds nothing but atomics.
    private nonisolated(unsafe) let counters: UnsafeMutablePointer<Atomic<Int64>>
    private let unindexed = Atomic<Int64>(0)
    private let resumed = Atomic<Int64>(0)
    private let begunAnew = Atomic<Int64>(0)
    private static let count = RequestKind.allCases.count * Outcome.allCases.count

    package init() {
        counters = .allocate(capacity: Self.count)
        for place in 0..<Self.count { (counters + place).initialize(to: Atomic(0)) }
    }

    deinit {
        counters.deinitialize(count: Self.count)
        counters.deallocate()
    }

    private static func place(_ kind: RequestKind, _ outcome: Outcome) -> Int {
        kind.rawValue * Outcome.allCases.count + outcome.rawValue
    }

    package func add(_ kind: RequestKind, _ outcome: Outcome, count: Int = 1) {
        counters[Self.place(kind, outcome)].add(Int64(count), ordering: .relaxed)
    }

    /// A request is done.
    ///
    /// - parameter outputs: those of its turn; from `start` on, they are its own.
    @inline(__always)
    func add(_ kind: RequestKind?, _ outputs: borrowing [Output], from start: Int) {
        guard let kind else { return }
        // Only a refusal can be answered later (``TransactionTurns``).
        var outcome = kind == .transaction && outputs.count == start ? Outcome.conflict : .ok
        if outputs.count > start, let failure = outputs.span[outputs.count - 1].failure { outcome = failure.outcome }
        add(kind, outcome)
    }

    /// A query without an index begins to visit children one by one.
    func addUnindexed() { unindexed.add(1, ordering: .relaxed) }

    /// A listener has come back with a position.
    func addResume(isKnown: Bool) {
        if isKnown { resumed.add(1, ordering: .relaxed) } else { begunAnew.add(1, ordering: .relaxed) }
    }

    package func count(_ kind: RequestKind, _ outcome: Outcome) -> Int64 {
        counters[Self.place(kind, outcome)].load(ordering: .relaxed)
    }

    /// Queries that had to visit children one by one.
    package var unindexedCount: Int64 { unindexed.load(ordering: .relaxed) }

    /// Listeners that came back with a position and were sent only what changed; and those that had to start over.
    package var resumedCount: Int64 { resumed.load(ordering: .relaxed) }
    package var begunAnewCount: Int64 { begunAnew.load(ordering: .relaxed) }
}

extension Failure {
    package var outcome: RequestTally.Outcome {
        switch self {
        case .denied: .denied
        case .stale, .notUnique, .refusedBySetting, .rateExceeded: .conflict
        case .unavailable: .unavailable
        case .nothingThere, .noIndex, .tooLarge: .invalid
        case .refused(let status, _):
            switch status.text.description {
            case "unavailable": .unavailable
            case "permission_denied": .denied
            case "lease_lost", "job_gone": .conflict
            default: .invalid
            }
        }
    }
}
