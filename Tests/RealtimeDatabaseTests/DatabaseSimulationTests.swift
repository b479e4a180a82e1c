import HearthDatabaseScheduler
import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

/// Sessions with random operations on a database whose threads, log and store delay, fail and come back: the production
/// scheduler runs it, every answer is compared with a model, every listener with what is durable.
///
/// `HEARTH_SEED=N` runs one seed alone, with and without faults.
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
        case tick
        /// The event loops are behind, or not any more.
        case backlog(isFull: Bool)
        /// So many reads of the store succeed before all others fail.
        case failReads(after: Int)
        case healReads
        case log(isReadable: Bool)
        case crash(keeping: Int, writing: Bool)
    }

    /// One run.
    struct Simulation {
        private(set) var host: SimulatedHost
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
            sizes.limits.turnReadBytesMax = [200, 16 << 20].randomElement(using: &random) ?? 0
            sizes.limits.waitingReadBytesMax = [500, 64 << 20].randomElement(using: &random) ?? 0
            sizes.limits.changedBytesSoft = [500, 24 << 20].randomElement(using: &random) ?? 0
            sizes.limits.changedBytesBulk = sizes.limits.changedBytesSoft / 2
            sizes.limits.changedBytesHard = sizes.limits.changedBytesSoft * 2
            sizes.limits.turnTimeMax = [.microseconds(2), .milliseconds(2)].randomElement(using: &random) ?? .zero
            sizes.limits.stepTimeMax = sizes.limits.turnTimeMax / 2
            sizes.limits.changedRowsMax = [3, 8192].randomElement(using: &random) ?? 0
            sizes.limits.scannedPerStepMax = 2
            sizes.limits.applyIntervalTicks = 2
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
            case .tick: host.tick()
            case .backlog(let isFull): host.setBacklog(isFull: isFull)
            case .failReads(let count): host.readsLeft = count
            case .healReads: host.readsLeft = nil
            case .log(let isReadable): host.log.isReadable = isReadable
            case .crash(let count, let writing): host.crash(keeping: count, writing: writing)
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
                if let path = client.listening.min(), Int.random(in: 0..<8, using: &random) == 0 {
                    for operation in generator.listeningAgain(to: path, having: client.value(at: path)) {
                        requests.append(client.request(operation))
                    }
                }
                requests.append(
                    client.request(
                        generator.operation(
                            knowing: { client.settledValue(at: $0) }, having: { client.value(at: $0) })))
                host.clients[connection] = client
            }
            host.run(requests)
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
            case 22: steps.append(.prepare)
            case 23: steps.append(.tick)
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
        case 11: [.crash(keeping: count - 1, writing: Bool.random(using: &random)), .connect(random.next())]
        case 12: [Bool.random(using: &random) ? .failReads(after: 2) : .healReads]
        default:
            // A tear: some turns later all is well again.
            [
                .failReads(after: Int.random(in: 0...4, using: &random)), .requests(random.next()), .healReads,
                .requests(random.next()),
            ]
        }
    }

    /// Runs a seed, and reports the shortest steps that fail.
    static func check(seed: UInt64, withFaults: Bool) {
        let steps = steps(seed: seed, withFaults: withFaults)
        func failure(_ steps: [Step]) -> String? {
            var simulation = Simulation(seed: seed, withFaults: withFaults)
            return simulation.failure(of: steps)
        }
        guard failure(steps) != nil else { return }
        let fewest = shrunk(steps) { failure($0) != nil }
        let why = failure(fewest) ?? ""
        Issue.record("HEARTH_SEED=\(seed), \(withFaults ? "with" : "without") faults: \(why) of \(fewest)")
    }

    private static func seeds(_ group: UInt64) -> [UInt64] {
        if let seed = TestScale.seed { return group == 0 ? [seed] : [] }
        return Array(group * 10..<group * 10 + 10)
    }

    @Test("is closed while nobody uses it, and opened again as it was")
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
                for _ in 0..<4 { steps += [.prepare, .commit(9, .succeeds), .store(.succeeds), .news(20), .tick] }
            }
            var simulation = Simulation(seed: seed, withFaults: false)
            if let failure = simulation.failure(of: steps) { Issue.record("HEARTH_SEED=\(seed): \(failure)") }
            closeCount += simulation.host.closeCount
        }
        #expect(closeCount > 10)
    }

    @Test("answers as the model does while its threads lag behind", arguments: 0..<(4 * TestScale.factor))
    func lagging(group: UInt64) {
        for seed in Self.seeds(group) { Self.check(seed: seed, withFaults: false) }
    }

    @Test("tells nobody anything that is not durable, whatever fails", arguments: 0..<(8 * TestScale.factor))
    func failing(group: UInt64) {
        for seed in Self.seeds(group) { Self.check(seed: seed, withFaults: true) }
    }
}
