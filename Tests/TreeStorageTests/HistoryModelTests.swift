import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import Synchronization
import HearthTestSupport
import Testing

@testable import HearthTreeStorage
import HearthStorageErrors

/// Random writes to a database whose settings keep histories, and reads of them as of random moments.
@Suite("the history of a database and a model")
struct HistoryModelTests {
    /// A database under way, its history, and what that must tell.
    private struct World {
        var workload: DiskWorkload
        var choices: HistoryChoices
        var definitions: [HistoryDefinition]
        var times: [Int64] = [0]
        var erased: [(path: Path, sequence: UInt64)] = []
        /// What the next step of the history erases.
        var toErase: Path?
        let folder: String
        let durability: Durability

        init(seed: UInt64, folder: String, durability: Durability) {
            workload = DiskWorkload(seed: seed)
            choices = HistoryChoices(random: SeededRandom(seed: seed ^ 0x4157))
            definitions = choices.definitions()
            (self.folder, self.durability) = (folder, durability)
        }

        var model: HistoryModel { HistoryModel(trees: workload.trees, times: times, erased: erased) }

        func open() throws(StorageError) -> HistoryFile { try HistoryFile("a", in: folder, durability: durability) }

        /// One step of a database.
        mutating func step(_ disk: DatabaseOnDisk, _ file: HistoryFile?) throws(StorageError) {
            let next = workload.nextStep()
            disk.now += Int64.random(in: 0...3, using: &choices.random)
            switch next {
            case .prune:
                // The log keeps what the history has not read.
                let limit = min(disk.tree.sequence, file?.sequence ?? 0)
                _ = try disk.log.prune(before: .max, keepingBytes: .max, appliedSequence: limit, rowsMax: 3)
            case .reopen: break
            default: try workload.run(next, on: disk)
            }
            while times.count < workload.trees.count { times.append(disk.now) }
        }

        /// Decides what the next step of the history is, as far as that is not random.
        mutating func prepareHistoryStep() {
            toErase = Int.random(in: 0..<12, using: &choices.random) == 0 ? choices.path() : nil
        }

        /// As `Erasure` does, but that the log keeps what it has.
        mutating func erase(_ path: Path, _ disk: DatabaseOnDisk, _ file: HistoryFile) throws(StorageError) {
            // What was frozen before, and the rest.
            for _ in 0..<2 { try disk.apply() }
            precondition(disk.tree.sequence == disk.log.lastSequence)
            try file.follow(file.places.map { HistoryDefinition(pattern: $0.kept.pattern, keep: nil) })
            let isKept = file.places.contains { $0.kept.concerns(path) }
            try file.erase(path, present: TreeRows(store: try disk.tree.makeReader()))
            if isKept { erased.append((path, file.sequence)) }
            toErase = nil
        }

        /// One step of its history.
        mutating func historyStep(_ disk: DatabaseOnDisk, _ file: inout HistoryFile?) throws(StorageError) {
            if let toErase {
                let opened: HistoryFile
                if let file { opened = file } else { opened = try open() }
                file = opened
                return try erase(toErase, disk, opened)
            }
            switch Int.random(in: 0..<12, using: &choices.random) {
            case 0: definitions = choices.definitions()
            case 1: file = nil
            case 2...6:
                let opened: HistoryFile
                if let file { opened = file } else { opened = try open() }
                file = opened
                while try opened.advance(definitions, now: disk.now) {}
            default: break
            }
        }
    }

    @Test("agree about every moment", arguments: 0..<(10 * TestScale.factor))
    func moments(seed: UInt64) throws {
        let folder = TemporaryFolder()
        var world = World(seed: seed, folder: folder.path, durability: .memory)
        var disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        var file: HistoryFile?
        var cases = 0
        for step in 0..<100 {
            if step % 29 == 28 {
                let now = disk.now
                disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
                disk.now = now
            }
            try world.step(disk, file)
            world.prepareHistoryStep()
            try world.historyStep(disk, &file)
            guard let file else { continue }
            let problems = world.choices.problems(of: file, world.model, cases: 12)
            cases += 12
            #expect(problems == [], "seed \(seed) step \(step)")
            if !problems.isEmpty { return }
        }
        #expect(cases > 200)
    }

    @Test("agree after a backup is restored at any moment", arguments: 0..<(4 * TestScale.factor))
    func backups(seed: UInt64) throws {
        let folder = TemporaryFolder()
        var world = World(seed: seed, folder: folder.path, durability: .memory)
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        var file: HistoryFile?
        var (cases, count) = (0, 0)
        for step in 0..<100 {
            try world.step(disk, file)
            world.prepareHistoryStep()
            try world.historyStep(disk, &file)
            guard step % 5 == 4, let own = file, !own.places.isEmpty else { continue }
            let (copy, target) = (folder.path + "/copy", TemporaryFolder())
            let extent = Backup.Extent.allCases[step / 5 % 2]
            let summary = try Backup.make(of: "a", in: folder.path, to: copy, extent)
            #expect(try Backup.check(copy) == summary, "seed \(seed) step \(step)")
            #expect(summary.changes != nil, "seed \(seed) step \(step)")
            _ = try Backup.restore(copy, as: "a", in: target.path) { _ in }
            let restored = try HistoryFile("a", in: target.path, durability: .memory)
            try restored.follow(own.places.map { HistoryDefinition(pattern: $0.kept.pattern, keep: nil) })
            // It has not started over, and has what its log has.
            #expect(restored.places.map(\.start) == own.places.map(\.start), "seed \(seed) step \(step)")
            #expect(restored.sequence == disk.log.lastSequence, "seed \(seed) step \(step)")
            let problems = world.choices.problems(of: restored, world.model, cases: 12)
            #expect(problems == [], "seed \(seed) step \(step)")
            if !problems.isEmpty { return }
            cases += 12
            count += 1
        }
        #expect(count > 3)
        #expect(cases > 36)
    }

    /// As in `StorageCrashTests`: at every write and sync of any of the files.
    @Test("agree after a crash at any moment", arguments: 0..<(2 * TestScale.factor))
    func crashes(seed: UInt64) throws {
        let disk = SimulatedDisk()
        let current = Mutex(World(seed: seed, folder: disk.path, durability: .full))
        let found = Mutex((count: 0, problems: [String]()))
        disk.beforeEachChange { [weak disk] number in
            guard number.isMultiple(of: 3) else { return }
            let world = current.withLock { $0 }
            let probability = [1, 0, 0.5][number / 3 % 3]
            guard let copy = disk?.imageAfterPowerCut(keeping: probability, seed: seed ^ UInt64(number)) else { return }
            let problems = Self.problems(of: copy.path, world, number)
            found.withLock { found in
                found.count += 1
                found.problems += problems.map { "\($0), after operation \(number), \(probability) left" }
            }
        }
        var database = try DatabaseOnDisk(folder: disk.path)
        var file: HistoryFile?
        for step in 0..<50 {
            if step % 13 == 12 {
                let now = database.now
                database = try DatabaseOnDisk(folder: disk.path)
                database.now = now
            }
            var world = current.withLock { $0 }
            try world.step(database, file)
            world.prepareHistoryStep()
            current.withLock { $0 = world }
            try world.historyStep(database, &file)
            current.withLock { $0 = world }
        }
        file = nil
        let (count, problems) = found.withLock { $0 }
        #expect(count > 30)
        #expect(problems == [], "seed \(seed)")
    }

    /// What is wrong with the history in a folder that a crash has left. Of a step that was under way, the log may have
    /// operations that the model does not know: nothing is asked about those.
    private static func problems(of folder: String, _ world: World, _ number: Int) -> [String] {
        do throws(StorageError) {
            let disk = try DatabaseOnDisk(folder: folder, durability: .memory)
            let file = try HistoryFile("a", in: folder, durability: .memory)
            guard Int(disk.log.lastSequence) < world.workload.trees.count else { return [] }
            while try file.advance(world.definitions, now: world.times.last ?? 0) {}
            guard file.sequence == disk.log.lastSequence || file.places.isEmpty else {
                return ["the history is at \(file.sequence), the log at \(disk.log.lastSequence)"]
            }
            var world = world
            if let path = world.toErase { try world.erase(path, disk, file) }
            var choices = world.choices
            choices.random = SeededRandom(seed: UInt64(number))
            return choices.problems(of: file, world.model, cases: 10)
        } catch {
            return ["\(error)"]
        }
    }
}
