package import HearthJSONTree
import HearthRealtimeDatabase

/// The operations after a number, at a place: what a listener needs of the log to resume.
package struct HistoryNeed: Sendable {
    package let path: Path
    package let after: UInt64

    package init(path: Path, after: UInt64) {
        self.path = path
        self.after = after
    }
}

/// A resuming listener's question to the log.
package struct HistoryQuestion: Sendable {
    /// Tells the questions of a database apart.
    package let serial: UInt64
    package let path: Path
    /// The last operation that the listener knows.
    package let after: UInt64
}

/// The questions to the log of listeners that resume. Those that wait are asked together, while no others are.
struct HistoryQuestions {
    private var waiting: [HistoryQuestion] = []
    private var askers: Set<ConnectionID> = []
    private var made: UInt64 = 0
    /// Those whose questions are being answered; nil while none are.
    private var asking: Set<ConnectionID>?
    /// The serial number of the last question of these.
    private(set) var lastAsked: UInt64 = 0

    /// Answers the serial number.
    mutating func ask(_ need: HistoryNeed, for connection: ConnectionID) -> UInt64 {
        made += 1
        waiting.append(HistoryQuestion(serial: made, path: need.path, after: need.after))
        askers.insert(connection)
        return made
    }

    /// The next questions; nil without questions, or while the last ones are being answered.
    mutating func take() -> [HistoryQuestion]? {
        guard asking == nil, !waiting.isEmpty else { return nil }
        defer { (waiting, askers) = ([], []) }
        (lastAsked, asking) = (made, askers)
        return waiting
    }

    /// The questions that were taken are answered. Returns the connections that have asked them, in order.
    mutating func answered() -> [ConnectionID] {
        defer { asking = nil }
        return (asking ?? []).sorted { $0.raw < $1.raw }
    }

    /// Whether an answer to a connection is to come.
    func owes(_ connection: ConnectionID) -> Bool {
        asking?.contains(connection) == true || askers.contains(connection)
    }
}
