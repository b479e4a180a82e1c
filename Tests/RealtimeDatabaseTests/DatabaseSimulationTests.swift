import JSONTree
import TestSupport
import Testing

@testable import RealtimeDatabase

/// Sessions with random operations on a database whose log and store lag behind, fail and come back: every answer is
/// compared with a model, every listener with what is durable.
@Suite("a simulated database")
struct DatabaseSimulationTests {
    enum Step {
        case connect(UInt64)
        case disconnect(UInt64)
        /// A turn of random requests.
        case turn(UInt64)
        case commit(Int, SimulatedHost.Outcome)
        case recover
        case accept
        case freeze
        case startApplying
        case finishApplying(SimulatedHost.Outcome)
        case clear
        /// A step of the making of an index.
        case build
        /// A step of a scan.
        case scan
        /// So many reads of the store succeed before all others fail.
        case failReads(after: Int)
        case healReads
        case crash(keeping: Int)
    }

    /// One run.
    private struct Simulation {
        private var host: SimulatedHost
        private var generator: StepGenerator
        private var connectionsMade: UInt64 = 0

        init(seed: UInt64) {
            var random = SeededRandom(seed: seed)
            var sizes = SimulatedHost.Sizes()
            sizes.residentBytesMax = [0, 3000, 1 << 20].randomElement(using: &random) ?? 0
            sizes.assembledBytesMax = [60, 1 << 20].randomElement(using: &random) ?? 0
            sizes.tellingStepCostMax = [1, .max].randomElement(using: &random) ?? 1
            generator = StepGenerator(seed: seed)
            sizes.indexes = generator.indexes()
            host = SimulatedHost(sizes: sizes)
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
            case .disconnect(let seed):
                if let connection = client(seed) { host.disconnect(connection) }
            case .turn(let seed): runTurn(seed)
            case .commit(let count, let outcome): host.commit(count, outcome)
            case .recover: host.recover()
            case .accept: host.accept()
            case .freeze: host.freeze()
            case .startApplying: host.startApplying()
            case .finishApplying(let outcome): host.finishApplying(outcome)
            case .clear: host.clear()
            case .build: host.buildIndex()
            case .scan: host.scan()
            case .failReads(let count): host.readsLeft = count
            case .healReads: host.readsLeft = nil
            case .crash(let count): host.crash(keeping: count)
            }
        }

        private func client(_ seed: UInt64) -> ConnectionID? {
            let connections = host.clients.keys.sorted { $0.raw < $1.raw }
            return connections.isEmpty ? nil : connections[Int(seed % UInt64(connections.count))]
        }

        private mutating func runTurn(_ seed: UInt64) {
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
        while steps.count < 150 {
            switch Int.random(in: 0..<(withFaults ? 36 : 22), using: &random) {
            case 0...8: steps.append(.turn(random.next()))
            case 9...13: steps.append(.commit(Int.random(in: 1...4, using: &random), .succeeds))
            case 14: steps.append(.freeze)
            case 15: steps += [.scan, .scan]
            case 16...17: steps.append(.startApplying)
            case 18...19: steps.append(.finishApplying(.succeeds))
            case 20: steps.append(Bool.random(using: &random) ? .connect(random.next()) : .disconnect(random.next()))
            case 21: steps += [.clear, .build, .build]
            default: steps += faultySteps(&random)
            }
        }
        return steps
    }

    private static func faultySteps(_ random: inout SeededRandom) -> [Step] {
        switch Int.random(in: 0..<14, using: &random) {
        case 0: [.commit(Int.random(in: 1...4, using: &random), .fails)]
        case 1: [.commit(Int.random(in: 1...4, using: &random), .failsButIsThere)]
        case 2: [.finishApplying(.fails)]
        case 3...5: [.recover, .accept]
        case 6: [.recover]
        case 7: [.accept]
        case 8: [.crash(keeping: Int.random(in: 0...2, using: &random)), .connect(random.next())]
        case 9: [Bool.random(using: &random) ? .failReads(after: 2) : .healReads]
        default:
            // A tear: some turns later all is well again.
            [
                .failReads(after: Int.random(in: 0...4, using: &random)), .turn(random.next()), .healReads,
                .turn(random.next()),
            ]
        }
    }

    private static func check(seed: UInt64, withFaults: Bool) {
        let steps = steps(seed: seed, withFaults: withFaults)
        func failure(_ steps: [Step]) -> String? {
            var simulation = Simulation(seed: seed)
            return simulation.failure(of: steps)
        }
        guard failure(steps) != nil else { return }
        let fewest = shrunk(steps) { failure($0) != nil }
        Issue.record("seed \(seed): \(failure(fewest) ?? "") of \(fewest)")
    }

    @Test("answers as the model does while the log and the store lag behind", arguments: 0..<(4 * TestScale.factor))
    func lagging(seed: UInt64) {
        for seed in seed * 10..<seed * 10 + 10 { Self.check(seed: seed, withFaults: false) }
    }

    @Test("tells nobody anything that is not durable, whatever fails", arguments: 0..<(8 * TestScale.factor))
    func failing(seed: UInt64) {
        for seed in seed * 10..<seed * 10 + 10 { Self.check(seed: seed, withFaults: true) }
    }
}
