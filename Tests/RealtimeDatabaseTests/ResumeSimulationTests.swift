import JSONTree
import TestSupport
import Testing

@testable import RealtimeDatabase

/// Listeners that drop and come back on a database whose log lags behind, fails, loses its end and is cut: each must
/// hear of every commit once, in order, or begin anew and be told so.
@Suite("listeners that resume")
struct ResumeSimulationTests {
    /// A listener, over all the connections that it has had.
    private struct Listener {
        let path: Path
        var connection: ConnectionID?
        var position: Position?
        /// What it was told of since it last began anew, and where that was.
        var heard: [(sequence: UInt64, change: Change)] = []
        var start: UInt64 = 0
        var tree = NaiveDatabase()
        /// The answer to its listen has come.
        var isSettled = false

        mutating func take(_ change: Change, _ position: Position) {
            heard.append((position.sequence, change))
            for assignment in change.assignments { tree.assign(assignment) }
            self.position = position
        }

        mutating func beginAnew(_ value: CanonicalJSON, _ position: Position) {
            heard = []
            start = position.sequence
            tree = NaiveDatabase()
            tree.assign(Assignment(target: WriteTarget(path: path), value: value))
        }
    }

    private struct Simulation {
        let seed: UInt64
        var random: SeededRandom
        var generator: StepGenerator
        var database: Database
        /// Durable, and on the way to it.
        var log: [LogRecord] = []
        var inFlight: [LogRecord] = []
        /// What the log has lost of its beginning.
        var cut: UInt64 = 0
        var epoch: UInt64 = 1
        var listeners: [Listener] = []
        var groups: [GroupID: Set<ConnectionID>] = [:]
        var serial: UInt64 = 0
        /// Listens for which the log was read, to be carried out later.
        var prepared: [Request] = []
        var recovered = 0
        var begunAnew = 0

        init(seed: UInt64) {
            self.seed = seed
            random = SeededRandom(seed: seed)
            generator = StepGenerator(seed: seed)
            database = Database(index: 1, epoch: 1, store: MemoryRowStore(), sequence: 0)
            for _ in 0..<6 { listeners.append(Listener(path: generator.path())) }
            listeners.append(listeners[0])
        }

        mutating func step() {
            switch Int.random(in: 0..<20, using: &random) {
            case 0...7: write()
            case 8...11: commit(Int.random(in: 1...3, using: &random))
            case 12...13: drop(Int.random(in: listeners.indices, using: &random))
            case 14...16: comeBack(Int.random(in: listeners.indices, using: &random))
            case 17: runPrepared()
            case 18: if Int.random(in: 0..<4, using: &random) == 0 { fail() }
            default: if Int.random(in: 0..<6, using: &random) == 0 { restart() }
            }
        }

        mutating func write() {
            let writer = ConnectionID(loop: 0, kind: .realtime, serial: 1 << 40)
            var requests: [Request] = []
            for _ in 0..<([1, 1, 3, 40].randomElement(using: &random) ?? 1) {
                let operation: Operation =
                    switch generator.change() {
                    case .set(let assignment): .set(assignment.target, IncomingValue(json: assignment.value))
                    case .merge(let base, let assignments): .update(base: base, assignments.map(\.incoming))
                    }
                requests.append(Request(connection: writer, number: 0, operation: operation))
            }
            run(requests)
        }

        mutating func run(_ requests: [Request]) {
            if let record = database.process(requests, now: 1) { inFlight.append(record) }
            release()
        }

        mutating func commit(_ count: Int) {
            let group = inFlight.prefix(count)
            log.append(contentsOf: group)
            inFlight.removeFirst(group.count)
            if let last = group.last { database.committed(through: last.lastSequence) }
            if prepared.isEmpty { database.keepsRecords = false }
            release()
        }

        /// The log refuses what is on its way.
        mutating func fail() {
            inFlight = []
            let operations = log.flatMap { (try? $0.operations()) ?? [] }
            do {
                try database.refuse(because: .full, storeSequence: 0, replaying: operations)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            release()
            database.accept()
        }

        /// Another process, which finds some of what was on its way; or not all that was durable, and then another
        /// epoch.
        mutating func restart() {
            for index in listeners.indices { forget(index) }
            log.append(contentsOf: inFlight.prefix(Int.random(in: 0...2, using: &random)))
            (inFlight, groups, prepared) = ([], [:], [])
            if Int.random(in: 0..<3, using: &random) == 0 {
                log.removeLast(min(log.count, 2))
                epoch += 1
            } else if Int.random(in: 0..<3, using: &random) == 0 {
                // What is old goes; the tree has it.
                cut = log.dropLast(log.count / 2).last?.lastSequence ?? 0
            }
            database = Database(index: 1, epoch: epoch, store: MemoryRowStore(), sequence: 0)
            do {
                try database.replay(log.flatMap { try $0.operations() })
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }

        private mutating func forget(_ index: Int) {
            listeners[index].connection = nil
            listeners[index].isSettled = false
        }

        mutating func drop(_ index: Int) {
            guard let connection = listeners[index].connection else { return }
            forget(index)
            prepared.removeAll { $0.connection == connection }
            for group in groups.keys { groups[group]?.remove(connection) }
            run([Request(connection: connection, number: 1, operation: .disconnect)])
        }

        mutating func comeBack(_ index: Int) {
            guard listeners[index].connection == nil else { return }
            serial += 1
            let connection = ConnectionID(loop: index % 3, kind: .realtime, serial: serial)
            listeners[index].connection = connection
            let since = listeners[index].position.map { Since.position($0) } ?? .nothing
            let path = listeners[index].path
            let request = Request(
                connection: connection, number: 1, operation: .listen(path, known: nil, since: since))
            guard let needed = database.historyNeeded(for: request, now: 1) else { return run([request]) }
            database.keepsRecords = true
            prepared.append(request.asking(.listen(path, known: nil, since: since, missed: read(needed))))
            // What others come back for is read together with it.
            if Bool.random(using: &random) { runPrepared() }
        }

        /// What is read of the log.
        private func read(_ needed: (path: Path, after: UInt64)) -> MissedChanges.Found {
            let changes = MissedChanges(after: max(needed.after, cut))
            let found = MissedChanges.Found(changes, needed.path)
            do {
                for record in log { try changes.take(record) }
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            return found
        }

        mutating func runPrepared() {
            let requests = prepared
            prepared = []
            if !requests.isEmpty { run(requests) }
        }

        // MARK: Deliveries

        private mutating func release() {
            for output in database.takeReady() { deliver(output) }
        }

        /// Compares what the listeners were told with what is durable.
        mutating func check() {
            var changes: [(sequence: UInt64, change: Change)] = []
            var durable = NaiveDatabase()
            for operation in log.flatMap({ (try? $0.operations()) ?? [] }) {
                guard case .change(let change) = operation.content else { continue }
                for assignment in change.assignments { durable.assign(assignment) }
                changes.append((operation.sequence, change))
            }
            for (index, listener) in listeners.enumerated() where listener.isSettled {
                let expected = changes.filter { $0.sequence > listener.start }.compactMap { entry in
                    entry.change.seen(from: listener.path).map { (entry.sequence, $0) }
                }
                #expect(
                    listener.heard.map(\.sequence) == expected.map(\.0)
                        && listener.heard.map(\.change) == expected.map(\.1),
                    "seed \(seed), listener \(index)")
                let path = listener.path
                #expect(
                    listener.tree.tree.value(at: path) == durable.tree.value(at: path),
                    "seed \(seed), listener \(index)")
            }
        }

        private mutating func deliver(_ output: Output) {
            switch output {
            case .push(let change, let position, let addresses):
                for address in addresses {
                    for connection in groups[address.group] ?? [] {
                        guard let index = index(of: connection), let position else {
                            Issue.record("seed \(seed): a push without a position")
                            continue
                        }
                        listeners[index].take(change, position)
                    }
                }
            case .missed(let connection, let part, let position):
                guard let index = index(of: connection) else { return }
                for entry in part.place.entries[part.place.range(after: part.after, through: part.through)] {
                    listeners[index].take(entry.change, Position(epoch: position.epoch, sequence: entry.sequence))
                }
            case .initial(let connection, _, let value, let position):
                if let index = index(of: connection) { listeners[index].beginAnew(value, position) }
            case .join(let group, let connection):
                if index(of: connection) != nil { groups[group, default: []].insert(connection) }
            case .leave(let group, let connection): groups[group]?.remove(connection)
            case .reply(let connection, _, .listeningAt(let position, let isRecovered, _)):
                guard let index = index(of: connection) else { return }
                checkAnswer(to: listeners[index], at: position, isRecovered)
                listeners[index].position = position
                listeners[index].isSettled = true
                if isRecovered { recovered += 1 } else { begunAnew += 1 }
            default: break
            }
        }

        private func index(of connection: ConnectionID) -> Int? {
            listeners.firstIndex { $0.connection == connection }
        }

        /// What was there of the position that a listener came back with is told to the last commit.
        private func checkAnswer(to listener: Listener, at position: Position, _ isRecovered: Bool) {
            if isRecovered { #expect(position.epoch == epoch, "seed \(seed)") }
            if position.sequence > (log.last?.lastSequence ?? 0) { Issue.record("seed \(seed): not durable") }
        }
    }

    @Test("hear of every commit once, in order, whatever happens", arguments: 0..<(6 * TestScale.factor))
    func everythingOnce(seed: UInt64) {
        var (recovered, begunAnew) = (0, 0)
        for seed in seed * 5..<seed * 5 + 5 {
            var simulation = Simulation(seed: seed)
            for count in 0..<200 {
                simulation.step()
                if count.isMultiple(of: 20) { simulation.check() }
            }
            simulation.commit(.max)
            simulation.check()
            recovered += simulation.recovered
            begunAnew += simulation.begunAnew
        }
        #expect(recovered > 5 && begunAnew > 20, "\(recovered) of \(recovered + begunAnew) recovered")
    }
}
