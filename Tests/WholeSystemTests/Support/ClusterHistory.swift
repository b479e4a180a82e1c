import Glibc
import HearthServerSupport
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

/// What some clients of a cluster know of the writes that they made below a place of their own, and what must be there
/// because of it.
///
/// Each write makes a key of its own, whose value counts how often it was made, and counts up a total in the same
/// commit. Other writes are conditional: each counts up a number that all clients see, if it is as it was read.
final class ClusterHistory: Sendable {
    private struct Book {
        var acknowledged: Set<String> = []
        /// No answer came.
        var unknown: Set<String> = []
        var refusedCount = 0
        /// Who counted the number up to this, and was told so.
        var turns: [Int: String] = [:]
        var unknownTurnCount = 0
        var problems: [String] = []
        var isOver = false
        var lastAcknowledgement = MonotonicTime.current
        var longestPause = Duration.zero

        mutating func noteAcknowledgement() {
            longestPause = max(longestPause, .current - lastAcknowledgement)
            lastAcknowledgement = .current
        }
    }

    let place: String
    private let book = Mutex(Book())

    init(place: String) { self.place = place }

    var acknowledgedCount: Int { book.withLock { $0.acknowledged.count + $0.turns.count } }
    var unknownCount: Int { book.withLock { $0.unknown.count + $0.unknownTurnCount } }
    var refusedCount: Int { book.withLock { $0.refusedCount } }

    /// No client begins a write any more.
    func end() { book.withLock { $0.isOver = true } }

    /// The longest time without an acknowledgement since this was called last.
    func takeLongestPause() -> Duration {
        book.withLock { book in
            defer { (book.longestPause, book.lastAcknowledgement) = (.zero, .current) }
            return max(book.longestPause, .current - book.lastAcknowledgement)
        }
    }

    // MARK: Writing

    /// One client, which makes one write after the other until the end.
    final class Client: Sendable {
        let name: String
        private let history: ClusterHistory
        private let ports: [UInt16]
        /// How long it waits for an answer.
        private let patience: Duration
        /// How often each node was started.
        private let starts: Starts
        private let count = Mutex(0)

        init(_ name: String, _ history: ClusterHistory, ports: [UInt16], patience: Duration, _ starts: Starts) {
            (self.name, self.history, self.ports, self.patience) = (name, history, ports, patience)
            self.starts = starts
        }

        /// Its acknowledged writes.
        var acknowledgedCount: Int { count.withLock { $0 } }

        func run(seed: UInt64) {
            var random = SeededRandom(seed: seed)
            var node = Int.random(in: 0..<ports.count, using: &random)
            var number = 0
            while !history.book.withLock({ $0.isOver }) {
                number += 1
                let isConditional = Int.random(in: 0..<4, using: &random) == 0
                let isDone = isConditional ? takeTurn(number, at: node) : write(number, at: node)
                if isDone { count.withLock { $0 += 1 } }
                if !isDone || Int.random(in: 0..<20, using: &random) == 0 {
                    node = Int.random(in: 0..<ports.count, using: &random)
                }
                poll(nil, 0, isDone ? 5 : 20)
            }
        }

        private func write(_ number: Int, at node: Int) -> Bool {
            let key = "\(name)-\(number)"
            let one = #"{".sv":{"increment":1}}"#
            let start = starts[node]
            let answer = NodeAnswer.ask(
                "PATCH", history.place, #"{"k/\#(key)":\#(one),"total":\#(one)}"#, port: ports[node], within: patience)
            history.book.withLock { book in
                switch answer?.status {
                case 200:
                    book.acknowledged.insert(key)
                    book.noteAcknowledgement()
                case nil: book.unknown.insert(key)
                case 503: book.refusedCount += 1
                case let status?: book.problems.append("\(key): \(status) \(answer?.body ?? "")")
                }
            }
            guard answer?.status == 200 else { return false }
            readBack(key, at: node, started: start)
            return true
        }

        /// A client reads its own writes, where it made them.
        private func readBack(_ key: String, at node: Int, started start: Int) {
            let answer = NodeAnswer.ask(
                "GET", "\(history.place)/k/\(key)", port: ports[node], within: .seconds(2))
            // A node that was started again has what the others have, but a question may come before that.
            guard let answer, answer.status == 200, start == starts[node], starts.isUp(node) else { return }
            if answer.body != "1" {
                let problem = "\(key) was acknowledged by a node that has \(answer.body)"
                history.book.withLock { $0.problems.append(problem) }
            }
        }

        private func takeTurn(_ number: Int, at node: Int) -> Bool {
            let place = "\(history.place)/turn"
            guard
                let read = NodeAnswer.ask(
                    "GET", place, fields: ["X-Firebase-ETag: true"], port: ports[node], within: patience),
                read.status == 200, let tag = read.tag
            else { return false }
            let next = (Int(read.body) ?? 0) + 1
            let answer = NodeAnswer.ask(
                "PUT", place, "\(next)", fields: ["if-match: \(tag)"], port: ports[node], within: patience)
            return history.book.withLock { book in
                switch answer?.status {
                case 200:
                    if let other = book.turns.updateValue("\(name)-\(number)", forKey: next) {
                        book.problems.append("\(next) was acknowledged to \(name)-\(number) and to \(other)")
                    }
                    book.noteAcknowledgement()
                    return true
                case nil: book.unknownTurnCount += 1
                case 503: book.refusedCount += 1
                case 412: break
                case let status?: book.problems.append("turn \(next): \(status) \(answer?.body ?? "")")
                }
                return false
            }
        }
    }

    // MARK: Checking

    /// Compares the data of all nodes with the history. Clients must have ended their writes.
    func check(_ ports: [UInt16], _ when: String) async throws {
        let mark = "\(place)-mark"
        let value = "\(acknowledgedCount)"
        try await eventually("a mark") {
            for port in ports where try await NodeAnswer.ask("PUT", mark, value, at: port)?.status == 200 {
                return true
            }
            return false
        }
        for port in ports {
            try await eventually("the mark at all nodes") {
                try await NodeAnswer.ask("GET", mark, at: port)?.body == value
            }
        }
        // Writes without an answer may still be made.
        var tree = ""
        try await eventually("the same data at all nodes") {
            var found: Set<String> = []
            for port in ports {
                guard let answer = try await NodeAnswer.ask("GET", place, at: port), answer.status == 200 else {
                    return false
                }
                found.insert(answer.body)
            }
            tree = found.first ?? ""
            return found.count == 1
        }
        let found = try #require(Found(tree), "\(when): \(tree.prefix(200))")
        let book = book.withLock { $0 }
        #expect(book.problems == [], "\(when)")
        #expect(book.acknowledged.subtracting(found.keys) == [], "\(when): acknowledged writes are lost")
        let others = found.keys.subtracting(book.acknowledged).subtracting(book.unknown)
        #expect(others == [], "\(when): writes that were refused are there")
        #expect(found.repeated == [], "\(when): writes were made twice")
        #expect(found.total == found.keys.count, "\(when): writes were made in part")
        #expect(found.turn >= book.turns.keys.max() ?? 0, "\(when)")
        #expect(
            (book.turns.count...book.turns.count + book.unknownTurnCount).contains(found.turn),
            "\(when): \(found.turn), where \(book.turns.count) were acknowledged")
    }

    /// What a node has.
    private struct Found {
        var keys: Set<String> = []
        var repeated: [Substring] = []
        var total = 0
        var turn = 0

        init?(_ tree: String) {
            // {"k":{"a-1":1,"a-2":1},"total":2,"turn":1}
            guard let start = tree.firstRange(of: #"{"k":{"#), let end = tree.firstRange(of: "}") else { return nil }
            for member in tree[start.upperBound..<end.lowerBound].split(separator: ",") {
                let parts = member.split(separator: ":")
                guard parts.count == 2 else { return nil }
                keys.insert(String(parts[0].dropFirst().dropLast()))
                if parts[1] != "1" { repeated.append(member) }
            }
            for member in tree[end.upperBound...].dropLast().split(separator: ",") {
                let parts = member.split(separator: ":")
                guard parts.count == 2, let number = Int(parts[1]) else { return nil }
                if parts[0] == #""total""# { total = number } else { turn = number }
            }
        }
    }
}

/// Which nodes run, and how often they were started.
final class Starts: Sendable {
    private let nodes = Mutex([(count: Int, isUp: Bool)](repeating: (0, false), count: 3))

    subscript(node: Int) -> Int { nodes.withLock { $0[node].count } }

    func isUp(_ node: Int) -> Bool { nodes.withLock { $0[node].isUp } }

    func began(_ node: Int) { nodes.withLock { $0[node] = ($0[node].count + 1, true) } }

    func ended(_ node: Int) { nodes.withLock { $0[node].isUp = false } }
}
