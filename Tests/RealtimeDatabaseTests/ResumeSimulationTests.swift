import HearthJSONTree
import HearthTestSupport
import Testing
import HearthStorageErrors
import HearthRealtimeDatabase

/// Listeners that drop and come back on a database whose log lags, fails, loses its end, is cut and is replaced by an
/// older copy: each has the present state whenever it is told that it has, and is sent nothing but that.
@Suite("listeners that resume")
struct ResumeSimulationTests {
    /// A listener, over all the connections that it has had.
    private struct Listener {
        let path: Path
        var connection: ConnectionID?
        var position: Position?
        /// The changes that it was told of since its listen was answered, and where that was.
        var heard: [(sequence: UInt64, change: Change)] = []
        var start: UInt64 = 0
        /// The sent data adds up to this.
        var tree = NaiveDatabase()
        /// The update that it was sent, until its listen is answered.
        var update: (change: Change, since: UInt64)?
        /// The answer to its listen has come.
        var isSettled = false

        mutating func take(_ change: Change) {
            for assignment in change.assignments { tree.assign(assignment) }
        }

        mutating func beginAnew(_ value: CanonicalJSON) {
            tree = NaiveDatabase()
            tree.assign(Assignment(target: WriteTarget(path: path), value: value))
        }
    }

    /// What the files hold.
    private struct Log {
        var records: [LogRecord] = []
        var epochs: [Epochs.Epoch] = []

        var last: UInt64 { records.last?.lastSequence ?? 0 }

        func record(of sequence: UInt64) -> LogRecord? {
            records.first { $0.firstSequence <= sequence && sequence <= $0.lastSequence }
        }

        /// Epochs are recorded together with their first records.
        mutating func removeLast(_ count: Int) {
            records.removeLast(min(count, records.count))
            let last = last
            epochs.removeAll { $0.start >= last }
        }
    }

    private struct Simulation {
        let seed: UInt64
        var random: SeededRandom
        var generator: StepGenerator
        var database: Database
        /// Durable, and on the way to it.
        var log = Log()
        var inFlight: [LogRecord] = []
        /// An older copy of the durable data.
        var copy = Log()
        /// What the log has lost of its beginning.
        var cut: UInt64 = 0
        var epoch: UInt64 = 1
        var listeners: [Listener] = []
        var groups: [GroupID: Set<ConnectionID>] = [:]
        var serial: UInt64 = 0
        /// The time of the last turn.
        var now: Int64 = 1_700_000_000_000
        /// Listens for which the log was read, to be carried out later.
        var prepared: [Request] = []
        /// Targets of all operations that ever had a number, those that were lost included.
        var touched: [(sequence: UInt64, path: Path)] = []
        var recovered = 0
        var updated = 0
        var begunAnew = 0

        init(seed: UInt64) {
            self.seed = seed
            random = SeededRandom(seed: seed)
            generator = StepGenerator(seed: seed)
            database = Database(
                index: 1, epochs: Epochs(current: .init(name: 1, start: 0)), store: MemoryRowStore(), sequence: 0)
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
            default: if Int.random(in: 0..<3, using: &random) == 0 { restart() }
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
                    case .setChildren(of: let base, let children): .setChildren(base, IncomingValue(json: children))
                    }
                requests.append(Request(connection: writer, number: 0, operation: operation))
            }
            run(requests)
        }

        mutating func run(_ requests: [Request]) {
            now += 1
            if let record = database.process(requests, now: now) {
                inFlight.append(record)
                for operation in (try? record.operations()) ?? [] {
                    touched += operation.assignments.map { (operation.sequence, $0.target.path) }
                }
            }
            release()
        }

        mutating func commit(_ count: Int) {
            let group = inFlight.prefix(count)
            keep(group)
            inFlight.removeFirst(group.count)
            if let last = group.last { database.committed(through: last.lastSequence) }
            if prepared.isEmpty { database.keepsRecords = false }
            release()
        }

        private mutating func keep(_ records: ArraySlice<LogRecord>) {
            guard let first = records.first else { return }
            let current = database.epochs.current
            if log.epochs.last != current { log.epochs.append(current) }
            #expect(first.firstSequence == log.last + 1, "seed \(seed)")
            log.records.append(contentsOf: records)
        }

        /// The log refuses records in flight.
        mutating func fail() {
            inFlight = []
            let operations = log.records.flatMap { (try? $0.operations()) ?? [] }
            do {
                try database.refuse(because: .full, storeSequence: 0, replaying: operations)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            release()
            database.accept()
        }

        /// Another process, which finds some records that were in flight; or not all durable ones; or an older copy. It
        /// may continue the last epoch, as a node of a cluster does.
        mutating func restart() {
            for index in listeners.indices { forget(index) }
            keep(inFlight.prefix(Int.random(in: 0...2, using: &random)))
            (inFlight, groups, prepared) = ([], [:], [])
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: log.removeLast(Int.random(in: 1...3, using: &random))
            case 2: log = copy
            case 3:
                // Old records are removed; the tree has them.
                cut = log.records.dropLast(log.records.count / 2).last?.lastSequence ?? 0
            default: break
            }
            copy = log
            cut = min(cut, log.last)
            let epochs: Epochs
            if let last = log.epochs.last, Bool.random(using: &random) {
                epochs = Epochs(past: log.epochs.dropLast(), current: last)
            } else {
                epoch += 1
                epochs = Epochs(past: log.epochs, current: .init(name: epoch, start: log.last))
            }
            database = Database(index: 1, epochs: epochs, store: MemoryRowStore(), sequence: 0)
            do {
                try database.replay(log.records.flatMap { try $0.operations() })
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
            guard let needed = database.historyNeeded(for: request, now: now) else { return run([request]) }
            database.keepsRecords = true
            prepared.append(request.asking(.listen(path, known: nil, since: since, missed: read(needed))))
            // What others come back for is read together with it.
            if Bool.random(using: &random) { runPrepared() }
        }

        /// The part of the log that is read.
        private func read(_ needed: (path: Path, after: UInt64)) -> MissedChanges.Found {
            let changes = MissedChanges(after: max(needed.after, cut))
            let record = needed.after > cut ? log.record(of: needed.after) : nil
            let found = MissedChanges.Found(changes, needed.path, time: record?.time)
            do {
                for record in log.records { try changes.take(record) }
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

        /// The data up to a number.
        private func state(through sequence: UInt64) -> CanonicalJSON {
            var state = NaiveDatabase()
            let operations = log.records.flatMap { (try? $0.operations()) ?? [] }
            for operation in operations where operation.sequence <= sequence {
                for assignment in operation.assignments { state.assign(assignment) }
            }
            return state.tree
        }

        /// Compares the listeners' values with the durable data.
        mutating func check() {
            var changes: [(sequence: UInt64, change: Change)] = []
            for operation in log.records.flatMap({ (try? $0.operations()) ?? [] }) {
                if case .change(let change) = operation.content { changes.append((operation.sequence, change)) }
            }
            let present = state(through: .max)
            for (index, listener) in listeners.enumerated() where listener.isSettled {
                let expected = changes.filter { $0.sequence > listener.start }.compactMap { entry in
                    entry.change.seen(from: listener.path).map { (entry.sequence, $0) }
                }
                #expect(listener.heard.map(\.sequence) == expected.map(\.0), "seed \(seed), listener \(index)")
                #expect(listener.heard.map(\.change) == expected.map(\.1), "seed \(seed), listener \(index)")
                let path = listener.path
                let isPresent = listener.tree.tree.value(at: path) == present.value(at: path)
                #expect(isPresent, "seed \(seed), listener \(index)")
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
                        listeners[index].take(change)
                        listeners[index].heard.append((position.sequence, change))
                        listeners[index].position = position
                    }
                }
            case .missed(let connection, let update, _):
                guard let index = index(of: connection), let update else { return }
                #expect(update.path == listeners[index].path, "seed \(seed)")
                listeners[index].take(update.change)
                listeners[index].update = (update.change, listeners[index].position?.sequence ?? 0)
            case .initial(let connection, _, let value, _):
                if let index = index(of: connection) { listeners[index].beginAnew(value) }
            case .join(let group, let connection):
                if index(of: connection) != nil { groups[group, default: []].insert(connection) }
            case .leave(let group, let connection): groups[group]?.remove(connection)
            case .reply(let connection, _, .listeningAt(let position, let isRecovered, _)):
                guard let index = index(of: connection) else { return }
                checkAnswer(to: listeners[index], at: position, isRecovered)
                if listeners[index].update != nil { updated += 1 }
                listeners[index].update = nil
                listeners[index].heard = []
                listeners[index].start = position.sequence
                listeners[index].position = position
                listeners[index].isSettled = true
                if isRecovered { recovered += 1 } else { begunAnew += 1 }
            default: break
            }
        }

        private func index(of connection: ConnectionID) -> Int? {
            listeners.firstIndex { $0.connection == connection }
        }

        /// A listener has the state at the position of its answer. What it was sent for that is part of that state, at
        /// places none of which is inside another, and of which each was changed since it left.
        private func checkAnswer(to listener: Listener, at position: Position, _ isRecovered: Bool) {
            if position.sequence > log.last { Issue.record("seed \(seed): not durable") }
            let state = state(through: position.sequence)
            let isPresent = listener.tree.tree.value(at: listener.path) == state.value(at: listener.path)
            #expect(isPresent, "seed \(seed): \(listener.path), recovered: \(isRecovered)")
            if isRecovered, let since = listener.position, since.sequence > 0 {
                let check = log.record(of: since.sequence).map { UInt32(truncatingIfNeeded: $0.time) }
                #expect(since.check == check, "seed \(seed): resumed from \(since), which is lost")
            }
            guard let (change, since) = listener.update else { return }
            for (index, assignment) in change.assignments.enumerated() {
                let target = assignment.target
                #expect(listener.path.contains(target.path), "seed \(seed)")
                let value = state.value(at: target.path)
                #expect(assignment.value == (target.isPriority ? value.priority : value), "seed \(seed): \(target)")
                let isTouched = touched.contains {
                    $0.sequence > since && ($0.path.contains(target.path) || target.path.contains($0.path))
                }
                #expect(isTouched, "seed \(seed): \(target) did not change")
                for other in change.assignments[..<index] where !other.target.isPriority {
                    let overlaps =
                        other.target.path.contains(target.path)
                        || target.path.contains(other.target.path) && !target.isPriority
                    #expect(!overlaps, "seed \(seed): \(target) and \(other.target)")
                }
            }
        }
    }

    @Test(
        "have the present state, and then hear of every commit once and in order, whatever happens",
        arguments: 0..<TestScale.cases(6))
    func present(seed: UInt64) {
        var (recovered, updated, begunAnew) = (0, 0, 0)
        for seed in seed * 5..<seed * 5 + 5 {
            var simulation = Simulation(seed: seed)
            for count in 0..<200 {
                simulation.step()
                if count.isMultiple(of: 20) { simulation.check() }
            }
            simulation.commit(.max)
            simulation.check()
            recovered += simulation.recovered
            updated += simulation.updated
            begunAnew += simulation.begunAnew
        }
        #expect(updated > 5, "\(recovered) recovered, \(updated) changed, \(begunAnew) began anew")
        #expect(begunAnew > 20, "\(recovered) recovered, \(updated) changed, \(begunAnew) began anew")
    }
}
