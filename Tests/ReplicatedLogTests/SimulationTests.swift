import Glibc
import HearthTestSupport
import Testing

/// What must hold whatever the engine, the network, the clocks and the nodes do, as long as the engine keeps what it has
/// taken: no acknowledged record is lost, doubled or reordered in a history of the log, nor mixed with another's; two owners never both acknowledge; a refused record never
/// comes; an owner with a valid lease never answers from an old state; and after the faults, everything continues.
@Suite("Simulated clusters") struct SimulationTests {
    private static let faultsPerRun = 150

    private struct Figures {
        var faults = 0, acknowledged = 0, taken = 0, owners = 0, copies = 0, trims = 0, parted = 0, settled = 0,
            moves = 0, compressed = 0, reads = 0, restores = 0, rebuilds = 0, replaced = 0, missed = 0, fed = 0
    }

    private static func run(_ seed: UInt64, _ faults: [Fault]) throws -> Simulation {
        var simulation = Simulation(seed: seed, nodes: 3, faults: faults)
        try simulation.run(until: (faults.last?.time ?? 0) + 6000)
        return simulation
    }

    /// Runs one seed; a failure is shrunk to the faults that matter.
    private static func figures(of seed: UInt64) -> Figures? {
        let faults = Fault.list(seed: seed, nodes: 3, from: 2000, count: faultsPerRun)
        do {
            let simulation = try run(seed, faults)
            return Figures(
                faults: simulation.faultCount, acknowledged: simulation.acknowledgedCount, taken: simulation.takenCount,
                owners: simulation.ownerCount, copies: simulation.copyCount, trims: simulation.trimCount,
                parted: simulation.partedCount, settled: simulation.settledCount, moves: simulation.moveCount,
                compressed: simulation.compressedCount, reads: simulation.readCount, restores: simulation.restoreCount,
                rebuilds: simulation.rebuildCount,
                replaced: simulation.replacedCount, missed: simulation.missedCount,
                fed: simulation.fedCount)
        } catch {
            let few = shrunk(faults) { (try? run(seed, $0)) == nil }
            var text = "\(error)"
            do { _ = try run(seed, few) } catch { text = "\(error)" }
            Issue.record("seed \(seed): \(error)\nshrunk: \(text)\n\(few.map(\.description).joined(separator: "\n"))")
            return nil
        }
    }

    /// `HEARTH_SEED` runs one seed; `HEARTH_TEST_SCALE` runs more of them.
    @Test("keep every promise under random faults")
    func faults() {
        if let seed = getenv("HEARTH_SEED").flatMap({ UInt64(String(cString: $0)) }) {
            _ = Self.figures(of: seed)
            return
        }
        var sum = Figures()
        for seed in 1...(6 * TestScale.factor) {
            guard let figures = Self.figures(of: seed) else { return }
            sum.faults += figures.faults
            sum.acknowledged += figures.acknowledged
            sum.taken += figures.taken
            sum.owners += figures.owners
            sum.copies += figures.copies
            sum.trims += figures.trims
            sum.parted += figures.parted
            sum.settled += figures.settled
            sum.moves += figures.moves
            sum.compressed += figures.compressed
            sum.reads += figures.reads
            sum.restores += figures.restores
            sum.rebuilds += figures.rebuilds
            sum.replaced += figures.replaced
            sum.missed += figures.missed
            sum.fed += figures.fed
        }
        if TestScale.factor > 1 { print("\(sum)") }
        // Nothing that is checked may be left out by accident.
        #expect(sum.faults > 500)
        #expect(sum.acknowledged > 1000)
        #expect(sum.taken > sum.acknowledged)
        for count in [sum.owners, sum.copies, sum.trims, sum.parted, sum.compressed, sum.settled, sum.moves] {
            #expect(count > 3, "\(sum)")
        }
        for count in [sum.restores, sum.rebuilds, sum.replaced, sum.missed] { #expect(count > 0, "\(sum)") }
        #expect(sum.reads > 1000)
        #expect(sum.fed > 1000)
    }

    @Test("need no fault to work: one owner, everything acknowledged")
    func quiet() throws {
        let simulation = try Self.run(1, [])
        #expect(simulation.ownerCount == 1)
        #expect(simulation.acknowledgedCount > 100)
        #expect(simulation.copyCount == 0)
    }
}
