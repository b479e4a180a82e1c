import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthStorageErrors

/// Random work on a database on disk, and what must be found afterwards.
struct DiskWorkload {
    enum Step {
        /// So many turns in one commit.
        case commit(Int)
        case apply
        case applySome
        case clear
        case prune
        case checkpoint
        case reopen
    }

    private var generator: TurnGenerator
    private var random: SeededRandom
    /// The tree after each operation, from none.
    private(set) var trees: [CanonicalJSON] = [.null]
    /// Operations that bring a large value.
    private var large: Set<UInt64> = []
    /// The last operation that was acknowledged.
    private(set) var acknowledged: UInt64 = 0
    /// The last operation that was handed to the log.
    var attempted: UInt64 { UInt64(trees.count - 1) }

    init(seed: UInt64) {
        generator = TurnGenerator(seed: seed)
        random = SeededRandom(seed: seed ^ 0xD15C)
    }

    mutating func nextStep() -> Step {
        switch Int.random(in: 0..<20, using: &random) {
        case 0...8: .commit(Int.random(in: 1...3, using: &random))
        case 9...10: .apply
        case 11...12: .applySome
        case 13...15: .clear
        case 16...17: .prune
        case 18: .checkpoint
        default: .reopen
        }
    }

    /// Runs so many turns; their records are to be committed together.
    mutating func prepare(_ turns: Int, on disk: DatabaseOnDisk) throws(StorageError) -> [LogRecord] {
        let records = disk.process(generator.turns(turns))
        for record in records { note(try record.operations()) }
        return records
    }

    /// The records are committed.
    mutating func acknowledge() { acknowledged = attempted }

    /// Any step but reopening, which is up to the caller.
    mutating func run(_ step: Step, on disk: DatabaseOnDisk) throws(StorageError) {
        switch step {
        case .commit(let turns):
            try disk.commit(prepare(turns, on: disk))
            acknowledge()
        case .apply: try disk.apply()
        case .applySome: try disk.applySome()
        case .clear: try disk.tree.clearSome()
        case .prune: try disk.prune()
        case .checkpoint: _ = try disk.tree.emptyWriteAheadFile()
        case .reopen: break
        }
    }

    private mutating func note(_ operations: [LoggedOperation]) {
        for operation in operations {
            var tree = trees[trees.count - 1]
            for assignment in operation.assignments {
                let (path, value) = (assignment.target.path, assignment.value)
                if assignment.target.isPriority {
                    tree = tree.settingPriority(value, at: path) ?? tree
                } else {
                    tree = tree.setting(value, at: path)
                }
                if assignment.value.bytes.count >= DatabaseOnDisk.largeBytesMin { large.insert(operation.sequence) }
            }
            trees.append(tree)
        }
    }

    /// The log refused what was not acknowledged; or it has it after all.
    mutating func recovered(at sequence: UInt64) {
        trees.removeLast(trees.count - 1 - Int(sequence))
        large = large.filter { $0 <= sequence }
        acknowledged = sequence
    }

    /// The mistake in a folder after a crash; nil if there is none. The rest of the work is done too, so the folder is
    /// put to use.
    func problem(in folder: String) -> String? {
        do {
            // Syncs cost time and prove nothing here.
            let disk = try DatabaseOnDisk(folder: folder, durability: .memory)
            let sequence = disk.database.sequence
            guard sequence == acknowledged || sequence == attempted else {
                return "operation \(sequence) is the last one, \(acknowledged) was acknowledged, \(attempted) tried"
            }
            let stored = try DatabaseOnDisk.storedValue(disk.tree.makeReader())
            // Of the operation that is next, a large value may have begun to replace what was there.
            if stored != trees[Int(disk.tree.sequence)], !large.contains(disk.tree.sequence + 1) {
                return "the rows are not those of operation \(disk.tree.sequence)"
            }
            if try disk.value() != trees[Int(sequence)] { return "the tree is not that of operation \(sequence)" }
            try disk.apply()
            while disk.tree.isClearing { try disk.tree.clearSome() }
            _ = try disk.tree.emptyWriteAheadFile()
            if try DatabaseOnDisk.storedValue(disk.tree.makeReader()) != trees[Int(sequence)] {
                return "the rows are not those of operation \(sequence) after recovery"
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}
