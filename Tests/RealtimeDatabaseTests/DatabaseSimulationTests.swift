import HearthDatabaseScheduler
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

/// Sessions with random operations on a database whose threads, log and store delay, fail and come back: the production
/// scheduler runs it, every answer is compared with a model, every listener with the durable data.
///
/// `HEARTH_SEED=N` runs one seed alone, with and without faults. `HEARTH_SIMULATION_SECONDS=N` continues with further
/// seeds for that long, and prints statistics.
@Suite("a simulated database")
struct DatabaseSimulationTests {
    enum Step {
        case connect(UInt64)
        case disconnect(UInt64)
        /// Random requests that arrive together.
        case requests(UInt64)
        /// So many reports of the threads arrive.
        case news(Int)
        case commit(Int, SimulatedLog.Outcome)
        case store(SimulatedHost.StoreOutcome)
        case prepare
        /// A large message is parsed, or it is known who a client is.
        case finishBeside
        /// A client does not read, or continues.
        case writable(UInt64, Bool)
        case tick
        /// The event loops are behind, or not any more.
        case backlog(isFull: Bool)
        /// So many reads of the store succeed before all others fail.
        case failReads(after: Int)
        case healReads
        case log(isReadable: Bool)
        case crash(keeping: Int, SimulatedHost.StoreAtCrash, losing: Int)
        /// The process ends in order, and another one begins.
        case stop(UInt64)
    }

    /// One run.
    struct Simulation {
        var host: SimulatedHost
        private var generator: StepGenerator
        private var connectionsMade: UInt64 = 0

        init(seed: UInt64, withFaults: Bool) {
            var random = SeededRandom(seed: seed)
            var sizes = SimulatedHost.Sizes()
            sizes.residentBytesMax = [0, 3000, 1 << 20].randomElement(using: &random) ?? 0
            sizes.assembledBytesMax = [60, 1 << 20].randomElement(using: &random) ?? 0
            sizes.tellingStepCostMax = [1, .max].randomElement(using: &random) ?? 1
            sizes.limits.turnBytesMax = [100, 256 << 10].randomElement(using: &random) ?? 0
            sizes.limits.largeRequestBytesMin = [150, 64 << 10].randomElement(using: &random) ?? 0
            sizes.limits.rowsOfShortTurnMax = 0
            sizes.limits.longTurnPauses = [9, 1000].randomElement(using: &random) ?? 9
            sizes.limits.turnReadBytesMax = [200, 16 << 20].randomElement(using: &random) ?? 0
            sizes.limits.waitingReadBytesMax = [500, 64 << 20].randomElement(using: &random) ?? 0
            sizes.limits.changedBytesSoft = [500, 24 << 20].randomElement(using: &random) ?? 0
            sizes.limits.changedBytesBulk = sizes.limits.changedBytesSoft / 2
            sizes.limits.changedBytesHard = sizes.limits.changedBytesSoft * 2
            sizes.limits.turnTimeMax = [.microseconds(2), .milliseconds(2)].randomElement(using: &random) ?? .zero
            sizes.limits.stepTimeMax = sizes.limits.turnTimeMax / 2
            sizes.limits.changedRowsMax = [3, 8192].randomElement(using: &random) ?? 0
            sizes.requestsMax = [2, 6, 1024].randomElement(using: &random) ?? 0
            sizes.parsedBesideBytesMin = [60, 300, .max].randomElement(using: &random) ?? 0
            sizes.limits.scannedPerStepMax = 2
            sizes.limits.applyIntervalTicks = [2, 8].randomElement(using: &random) ?? 0
            sizes.limits.busyApplyIntervalTicks = 2
            sizes.limits.replayedBytesSoft = [100, .max].randomElement(using: &random) ?? 0
            sizes.limits.idleMillisecondsMax = [0, 50].randomElement(using: &random) ?? 0
            sizes.limits.residentBytesMax = sizes.residentBytesMax
            generator = StepGenerator(seed: seed)
            sizes.indexes = generator.indexes()
            host = SimulatedHost(sizes: sizes)
            host.hasFailed = withFaults
        }

        mutating func failure(of steps: [Step]) -> String? {
            for (index, step) in steps.enumerated() {
                run(step)
                if let failure = host.failure { return "\(failure) after step \(index), \(step)" }
            }
            host.settle()
            return host.failure
        }

        private mutating func run(_ step: Step) {
            switch step {
            case .connect(let seed):
                connectionsMade += 1
                host.connect(loop: Int(seed % 3), serial: connectionsMade, keepsData: seed % 2 == 0)
            case .disconnect(let seed): if let connection = client(seed) { host.disconnect(connection) }
            case .requests(let seed): ask(seed)
            case .news(let count): host.deliverNews(count)
            case .commit(let count, let outcome): host.commit(count, outcome)
            case .store(let outcome): host.store(outcome)
            case .prepare: host.prepare()
            case .finishBeside: host.finishBeside()
            case .writable(let seed, let isWritable):
                if let connection = client(seed) { host.setWritable(connection, isWritable) }
            case .tick: host.tick()
            case .backlog(let isFull): host.setBacklog(isFull: isFull)
            case .failReads(let count): host.readsLeft = count
            case .healReads: host.readsLeft = nil
            case .log(let isReadable): host.log.isReadable = isReadable
            case .crash(let count, let rows, let lost): host.crash(keeping: count, rows, losing: lost)
            case .stop(let seed): host.stop(seed)
            }
        }

        private func client(_ seed: UInt64) -> ConnectionID? {
            let connections = host.clients.keys.sorted { $0.raw < $1.raw }
            return connections.isEmpty ? nil : connections[Int(seed % UInt64(connections.count))]
        }

        private mutating func ask(_ seed: UInt64) {
            var random = SeededRandom(seed: seed)
            var requests: [Request] = []
            generator.reseed(seed)
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                guard let connection = client(random.next()), var client = host.clients[connection] else { return }
                if !client.resumes, let path = client.listening.min(), Int.random(in: 0..<8, using: &random) == 0 {
                    for operation in generator.listeningAgain(to: path, having: client.value(at: path)) {
                        requests.append(client.request(operation))
                    }
                }
                var operation = generator.operation(
                    knowing: { client.settledValue(at: $0) }, having: { client.value(at: $0) })
                if Int.random(in: 0..<20, using: &random) == 0 { operation = .become(.done) }
                if let path = client.pathToResume, Bool.random(using: &random) { operation = .listen(path, known: nil) }
                requests.append(client.request(client.resuming(operation)))
                host.clients[connection] = client
            }
            host.send(requests)
        }
    }

    private static func steps(seed: UInt64, withFaults: Bool) -> [Step] {
        var random = SeededRandom(seed: seed)
        var steps: [Step] = (0..<3).map { _ in .connect(random.next()) }
        while steps.count < 200 {
            switch Int.random(in: 0..<(withFaults ? 36 : 26), using: &random) {
            case 0...7: steps.append(.requests(random.next()))
            case 8...12: steps.append(.news(Int.random(in: 1...6, using: &random)))
            case 13...17: steps += [.commit(Int.random(in: 1...4, using: &random), .succeeds), .news(1)]
            case 18...20: steps.append(.store(.succeeds))
            case 21: steps += [.store(.isHalfDone), .prepare]
            case 22: steps += [.prepare, .finishBeside]
            case 23: steps += [.tick, .finishBeside, .writable(random.next(), Bool.random(using: &random))]
            case 24: steps.append(.backlog(isFull: Bool.random(using: &random)))
            case 25: steps.append(Bool.random(using: &random) ? .connect(random.next()) : .disconnect(random.next()))
            default: steps += faultySteps(&random)
            }
        }
        return steps
    }

    private static func faultySteps(_ random: inout SeededRandom) -> [Step] {
        let count = Int.random(in: 1...4, using: &random)
        return switch Int.random(in: 0..<16, using: &random) {
        case 0: [.commit(count, .fails)]
        case 1: [.commit(count, .failsButIsThere)]
        case 2: [.commit(count, .hasNoQuorum)]
        case 3: [count == 1 ? .commit(1, .isFenced) : .tick]
        case 4: [.store(.fails)]
        // The way back.
        case 5...8: [.news(4), .commit(4, .succeeds), .news(4), .tick, .commit(4, .succeeds), .news(4)]
        case 9: [.log(isReadable: false)]
        case 10: [.log(isReadable: true), .tick]
        case 11: crash(keeping: count - 1, &random)
        case 12: [Bool.random(using: &random) ? .failReads(after: 2) : .healReads]
        default:
            // A tear: some turns later all is well again.
            [
                .failReads(after: Int.random(in: 0...4, using: &random)), .requests(random.next()), .healReads,
                .requests(random.next()),
            ]
        }
    }

    private static func crash(keeping count: Int, _ random: inout SeededRandom) -> [Step] {
        let rows = SimulatedHost.StoreAtCrash.allCases.randomElement(using: &random) ?? .torn
        let seeds = [random.next(), random.next()]
        return [.crash(keeping: count, rows, losing: Int(seeds[0] >> 8 % 4))] + seeds.map { .connect($0) }
    }

    /// The same, and the process ends now and then, soon after much was asked.
    private static func stoppingSteps(seed: UInt64, withFaults: Bool) -> [Step] {
        var random = SeededRandom(seed: ~seed)
        var steps: [Step] = []
        for step in Self.steps(seed: seed, withFaults: withFaults) {
            steps.append(step)
            guard Int.random(in: 0..<20, using: &random) == 0 else { continue }
            for _ in 0..<Int.random(in: 0...6, using: &random) { steps += [.requests(random.next()), .news(3)] }
            steps += [.stop(random.next()), .connect(random.next()), .connect(random.next())]
        }
        return steps
    }

    /// What simulations have done.
    struct Figures {
        var seeds = 0
        var requests = 0
        var events = 0
        var faults = 0
        var resumed = 0
        /// Gets that were answered without a turn.
        var plainReads = 0
        /// Ends of the process, in order.
        var stops = 0

        fileprivate mutating func add(_ host: SimulatedHost) {
            seeds += 1
            requests += host.requestCount
            events += host.eventCount
            faults += host.faultCount
            resumed += host.resumeCount
            plainReads += host.plainReadCount
            stops += host.stopCount
        }
    }

    /// Runs a seed, and reports the shortest steps that fail.
    static func check(seed: UInt64, withFaults: Bool, withStops: Bool = false, _ figures: inout Figures) {
        let make = withStops ? stoppingSteps : steps
        let steps = make(seed, withFaults)
        func failure(_ steps: [Step]) -> String? {
            var simulation = Simulation(seed: seed, withFaults: withFaults)
            return simulation.failure(of: steps)
        }
        var first = Simulation(seed: seed, withFaults: withFaults)
        let isFailure = first.failure(of: steps) != nil
        figures.add(first.host)
        guard isFailure else { return }
        let fewest = shrunk(steps) { failure($0) != nil }
        var last = Simulation(seed: seed, withFaults: withFaults)
        last.host.trace = []
        let why = last.failure(of: fewest) ?? ""
        let trace = last.host.trace ?? []
        print((["HEARTH_SEED=\(seed) did this:"] + trace.map { $0.prefix(2000) }).joined(separator: "\n"))
        let kind = "\(withFaults ? "with" : "without") faults\(withStops ? ", with stops" : "")"
        Issue.record("HEARTH_SEED=\(seed), \(kind): \(why) of \(fewest)")
    }

    private static func seeds(_ group: UInt64) -> [UInt64] {
        if let seed = TestScale.seed { return group == 0 ? [seed] : [] }
        return Array(group * 10..<group * 10 + 10)
    }

    @Test("is closed while it is not used, and opened again as it was")
    func closing() {
        var closeCount = 0
        for seed in Self.seeds(0) {
            var random = SeededRandom(seed: seed)
            var steps: [Step] = []
            for _ in 0..<30 {
                steps.append(.connect(random.next()))
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    steps.append(.requests(random.next()))
                    if Bool.random(using: &random) { steps += [.commit(9, .succeeds), .store(.succeeds), .tick] }
                }
                if Bool.random(using: &random) { steps += Array(repeating: .disconnect(0), count: 4) }
                for _ in 0..<4 {
                    steps += [.prepare, .finishBeside, .commit(9, .succeeds), .store(.succeeds), .news(20), .tick]
                }
            }
            var simulation = Simulation(seed: seed, withFaults: false)
            if let failure = simulation.failure(of: steps) { Issue.record("HEARTH_SEED=\(seed): \(failure)") }
            closeCount += simulation.host.closeCount
        }
        if TestScale.seed == nil { #expect(closeCount > 10) }
    }

    @Test("answers as the model does while its threads lag", arguments: 0..<TestScale.cases(4))
    func lagging(group: UInt64) {
        var figures = Figures()
        for seed in Self.seeds(group) { Self.check(seed: seed, withFaults: false, &figures) }
        if TestScale.seed == nil { #expect(figures.plainReads > 50) }
    }

    @Test("tells nobody anything that is not durable, whatever fails", arguments: 0..<TestScale.cases(8))
    func failing(group: UInt64) {
        var figures = Figures()
        for seed in Self.seeds(group) { Self.check(seed: seed, withFaults: true, &figures) }
        if TestScale.seed == nil { #expect(figures.faults > 20) }
    }

    @Test("ends in order at any moment, whatever is under way", arguments: 0..<TestScale.cases(8))
    func stopping(group: UInt64) {
        var figures = Figures()
        let kinds = TestScale.seed == nil ? [!group.isMultiple(of: 2)] : [false, true]
        for seed in Self.seeds(group) {
            for withFaults in kinds { Self.check(seed: seed, withFaults: withFaults, withStops: true, &figures) }
        }
        if TestScale.seed == nil { #expect(figures.stops > 20) }
    }

    @Test("continues with further seeds for as long as it is told to", .enabled(if: TestScale.simulationSeconds != nil))
    func longRun() {
        var figures = Figures()
        let first = TestScale.seed ?? .random(in: 0..<1 << 40)
        let start = ContinuousClock.now
        let end = start + .seconds(TestScale.simulationSeconds ?? 0)
        while ContinuousClock.now < end {
            // Most runs have faults, and half of all have stops.
            let seed = first + UInt64(figures.seeds)
            let (withFaults, withStops) = (figures.seeds % 8 > 1, figures.seeds.isMultiple(of: 2))
            Self.check(seed: seed, withFaults: withFaults, withStops: withStops, &figures)
        }
        print("Simulated from seed \(first) on, in \(ContinuousClock.now - start): \(figures)")
        #expect(figures.seeds > 0)
        #expect((figures.resumed > 0 || figures.seeds < 100))
    }
}
