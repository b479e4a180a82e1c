import HearthJSONTree
import HearthRealtimeDatabase
import Synchronization
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthStorageErrors

@Suite("a database on disk")
struct StorageCrashTests {
    @Test("is the same after every reopening", arguments: 0..<(4 * TestScale.factor))
    func reopening(seed: UInt64) throws {
        let folder = TemporaryFolder()
        var workload = DiskWorkload(seed: seed)
        var disk: DatabaseOnDisk? = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        for step in 0..<120 {
            let next = workload.nextStep()
            if case .reopen = next {
                disk = nil
                disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
            }
            guard let disk else { return }
            try workload.run(next, on: disk)
            #expect(try disk.value() == workload.trees.last, "seed \(seed) step \(step)")
        }
        disk = nil
        #expect(workload.problem(in: folder.path) == nil, "seed \(seed)")
    }

    @Test("keeps what it acknowledged through a crash at any moment", arguments: 0..<(3 * TestScale.factor))
    func crashes(seed: UInt64) throws {
        let disk = SimulatedDisk()
        let current = Mutex(DiskWorkload(seed: seed))
        let copies = CrashCopies(of: disk, seed: seed) { folder in current.withLock { $0 }.problem(in: folder) }
        var database: DatabaseOnDisk? = try DatabaseOnDisk(folder: disk.path)
        for _ in 0..<40 {
            let step = current.withLock { $0.nextStep() }
            if case .reopen = step {
                database = nil
                database = try DatabaseOnDisk(folder: disk.path)
            }
            guard let database else { return }
            if case .commit(let turns) = step {
                // The observer must know each commit while it is being made.
                try database.commit(
                    current.withLock { workload throws(StorageError) in try workload.prepare(turns, on: database) })
                current.withLock { $0.acknowledge() }
            } else {
                var workload = current.withLock { $0 }
                try workload.run(step, on: database)
            }
        }
        database = nil
        #expect(copies.count > 100)
        #expect(copies.problems == [], "seed \(seed)")
    }

    /// The n-th write or sync fails, and so many after it.
    @Test("loses nothing to a disk that fails for a while", arguments: 0..<(6 * TestScale.factor))
    func faults(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let disk = SimulatedDisk()
        var workload = DiskWorkload(seed: seed)
        var database: DatabaseOnDisk? = try DatabaseOnDisk(folder: disk.path)
        var faults = 0
        for step in 0..<120 {
            if Int.random(in: 0..<4, using: &random) == 0 {
                let fault: SimulatedDisk.Fault = Bool.random(using: &random) ? .full : .inputOutputError
                disk.fail(
                    after: Int.random(in: 0...8, using: &random), fault, times: Int.random(in: 1...3, using: &random))
            }
            let next = workload.nextStep()
            if case .reopen = next {
                disk.heal()
                database = nil
                database = try DatabaseOnDisk(folder: disk.path)
            }
            guard let database else { return }
            do throws(StorageError) {
                try workload.run(next, on: database)
            } catch {
                faults += 1
                disk.heal()
                guard case .commit = next else { continue }
                try database.recover(from: error)
                let sequence = database.database.sequence
                #expect(
                    sequence == workload.acknowledged || sequence == workload.attempted, "seed \(seed) step \(step)")
                workload.recovered(at: sequence)
            }
            #expect(try database.value() == workload.trees.last, "seed \(seed) step \(step)")
        }
        disk.heal()
        database = nil
        #expect(workload.problem(in: disk.path) == nil, "seed \(seed)")
        #expect(faults > 0, "seed \(seed)")
    }

    @Test("keeps what it acknowledged when the power goes after a failure", arguments: 0..<(4 * TestScale.factor))
    func faultsBeforeCrashes(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<15 {
            let disk = SimulatedDisk()
            var workload = DiskWorkload(seed: seed)
            let database = try DatabaseOnDisk(folder: disk.path)
            disk.fail(
                after: Int.random(in: 0...200, using: &random), round.isMultiple(of: 2) ? .full : .inputOutputError)
            do throws(StorageError) {
                for _ in 0..<40 { try workload.run(workload.nextStep(), on: database) }
            } catch {}
            for probability in [0, 0.5, 1] {
                let copy = disk.imageAfterPowerCut(keeping: probability, seed: random.next())
                #expect(workload.problem(in: copy.path) == nil, "seed \(seed) round \(round) \(probability)")
            }
        }
    }
}
