import Glibc
import HearthTestSupport
import Testing

/// The same as ``SimulationTests`` with six nodes, of which three hold the database. They come and go, drain, follow it
/// because clients use it, and remove their files when they do not need them. Then what the engine does not have is
/// always in the files of some machine.
@Suite("Simulated clusters in which three of six nodes hold a database") struct PlacementSimulationTests {
    private static let nodes = 6
    private static let faultsPerRun = 100

    private static func run(_ seed: UInt64, _ faults: [Fault]) throws -> Simulation {
        var simulation = Simulation(seed: seed, nodes: nodes, faults: faults, isPlaced: true)
        try simulation.run(until: (faults.last?.time ?? 8000) + 6000)
        return simulation
    }

    @Test("keep every promise under random faults") func faults() {
        var (removals, members, visits, drains, acknowledged, copies, fed) = (0, 0, 0, 0, 0, 0, 0)
        let single = getenv("HEARTH_SEED").flatMap { UInt64(String(cString: $0)) }
        for seed in single.map({ $0...$0 }) ?? 1...UInt64(4 * TestScale.factor) {
            let faults = Fault.list(seed: seed, nodes: Self.nodes, from: 4000, count: Self.faultsPerRun)
            do {
                let simulation = try Self.run(seed, faults)
                removals += simulation.removalCount
                members += simulation.memberCount
                visits += simulation.visitCount
                drains += simulation.drainCount
                acknowledged += simulation.acknowledgedCount
                copies += simulation.copyCount
                fed += simulation.fedCount
            } catch {
                let few = shrunk(faults) { (try? Self.run(seed, $0)) == nil }
                var text = "\(error)"
                do { _ = try Self.run(seed, few) } catch { text = "\(error)" }
                Issue.record(
                    "seed \(seed): \(error)\nshrunk: \(text)\n\(few.map(\.description).joined(separator: "\n"))")
                return
            }
        }
        if single != nil { return }
        let counts =
            "\(removals) removals, \(members) changes of members, \(visits) visits, \(drains) drains, "
            + "\(acknowledged) acknowledged, \(copies) copies, \(fed) batches from other nodes"
        if TestScale.factor > 1 { print(counts) }
        for count in [removals, members, visits, drains, copies] { #expect(count > 3, "\(counts)") }
        for count in [acknowledged, fed] { #expect(count > 500, "\(counts)") }
    }

    @Test("need no fault to work") func quiet() throws {
        let simulation = try Self.run(1, [])
        #expect(simulation.removalCount > 0)
        #expect(simulation.acknowledgedCount > 100)
    }
}
