import HearthEtcdGateway
import HearthEtcdMessages
import HearthEventLoop
import HearthTestSupport
import Testing

/// What the simulation proves is worth something only if its engine behaves like etcd.
@Suite("The simulated engine", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
struct EngineComparisonTests {
    private static let keys: [[UInt8]] = ["a", "b", "ba", "c"].map { Array($0.utf8) }

    private static func comparison(
        _ random: inout SeededRandom, revision: Int64
    ) -> EtcdTransaction.Comparison {
        let near = Int64.random(in: max(0, revision - 4)...revision, using: &random)
        let number = Bool.random(using: &random) ? near : 0
        let property: EtcdTransaction.Comparison.Property =
            switch Int.random(in: 0..<4, using: &random) {
            case 0: .createRevision(number)
            case 1: .modRevision(number)
            case 2: .lease(Int64.random(in: 0...2, using: &random))
            default: .value([UInt8.random(in: 0...2, using: &random)])
            }
        let relations: [EtcdTransaction.Comparison.Relation] = [.equal, .notEqual, .greater, .less]
        return .init(keys.randomElement(using: &random)!, relations.randomElement(using: &random)!, property)
    }

    private static func operation(_ random: inout SeededRandom) -> EtcdTransaction.Operation {
        let key = keys.randomElement(using: &random)!
        let ranges: [EtcdKeyRange] = [.key(key), .prefix(key), .keys(from: keys[0], upTo: keys[2])]
        let range = ranges.randomElement(using: &random)!
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1:
            return .put(
                key: key, value: [UInt8.random(in: 0...2, using: &random)],
                lease: Int.random(in: 0..<4, using: &random) == 0 ? Int64.random(in: 1...3, using: &random) : 0)
        case 2: return .delete(range)
        default:
            return .range(
                EtcdRange(
                    range, limit: Int64.random(in: 0...2, using: &random), isDescending: Bool.random(using: &random),
                    keysOnly: Bool.random(using: &random)))
        }
    }

    /// Operations of which no two write the same key: etcd would refuse them.
    private static func operations(_ random: inout SeededRandom) -> [EtcdTransaction.Operation] {
        var operations: [EtcdTransaction.Operation] = []
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let new = operation(&random)
            let isDouble = operations.contains { old in
                switch (old, new) {
                case (.put(let key, _, _), .put(let other, _, _)): key == other
                case (.put(let key, _, _), .delete(let keys)), (.delete(let keys), .put(let key, _, _)):
                    keys.contains(key)
                default: false
                }
            }
            if !isDouble { operations.append(new) }
        }
        return operations
    }

    @Test("replies to random transactions as etcd does")
    func transactions() throws {
        let servers = try EtcdServers(count: 1)
        let cluster = EtcdCluster(servers.ports.map { EtcdMember(host: "127.0.0.1", port: $0) })
        let client = EtcdClient(cluster)
        var engine = SimulatedEngine()
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededRandom(seed: seed)
        // Lease 3 does not exist.
        for lease in 1...2 as ClosedRange<Int64> {
            _ = try client.call(EtcdGrantLease(lease, seconds: 600), within: Patience.limit)
            _ = engine.grant(lease, until: .max)
        }
        for number in 0..<400 {
            if number % 100 == 99 {
                let lease = Int64(number / 100 % 2) + 1
                try client.call(EtcdRevokeLease(lease), within: Patience.limit)
                engine.end(lease)
                _ = try client.call(EtcdGrantLease(lease, seconds: 600), within: Patience.limit)
                _ = engine.grant(lease, until: .max)
            }
            let transaction = EtcdTransaction(
                if: (0..<Int.random(in: 0...2, using: &random)).map { _ in
                    Self.comparison(&random, revision: engine.revision)
                }, then: Self.operations(&random), else: Self.operations(&random), isRepeatable: true)
            let simulated = engine.apply(transaction)
            do throws(EtcdError) {
                let real = try client.call(transaction, within: Patience.limit)
                guard case .success(let reply) = simulated, reply == real else {
                    Issue.record("seed \(seed), \(number): \(transaction)\nreal \(real)\nsimulated \(simulated)")
                    return
                }
            } catch {
                guard case .failure(error) = simulated else {
                    Issue.record("seed \(seed), \(number): \(transaction)\nreal \(error)\nsimulated \(simulated)")
                    return
                }
            }
        }
    }
}
