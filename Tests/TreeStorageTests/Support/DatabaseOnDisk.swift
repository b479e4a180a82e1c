import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthTestSupport
import HearthTreeStorage
import HearthStorageErrors

/// A database with its two files, on one thread.
final class DatabaseOnDisk {
    static let largeBytesMin = 200
    let log: LogFile
    let tree: TreeFile
    let database: Database
    private var appliedSequence: UInt64
    private var unapplied: FrozenRows?
    /// The time of turns, in milliseconds since 1970.
    var now: Int64 = 1

    /// Small limits make small trees meet everything.
    init(
        folder: String, durability: Durability = .full, indexes: [IndexDefinition] = [],
        settings: DatabaseSettings = DatabaseSettings()
    ) throws(StorageError) {
        log = try LogFile(path: folder + "/a.log", durability: durability, newEpoch: 1)
        tree = try TreeFile(
            path: folder + "/a.tree", durability: durability, deletedAtOnceMax: 5, clearedPerStep: 7, writtenPerStep: 3)
        appliedSequence = tree.sequence
        database = Database(
            index: 0, store: try tree.makeReader(), sequence: tree.sequence, residentBytesMax: 2000,
            largeBytesMin: Self.largeBytesMin,
            packing: .init(packedBytesMax: 120, repackBytesMax: 40))
        try database.load()
        database.setIndexes(indexes, settings)
        try log.forEachRecord(after: tree.sequence) { (record) throws(StorageError) in
            try database.replay(record.operations())
        }
    }

    /// Runs turns, for which the rows of large values are made beforehand; answers their records, which are not in the
    /// log yet.
    func process(_ turns: [[Operation]]) -> [LogRecord] {
        let connection = ConnectionID(loop: 0, kind: .http, serial: 1)
        return turns.compactMap { turn in
            let requests = turn.map { Request(connection: connection, number: 0, operation: $0) }
            return database.process(requests.map(database.preparation.prepared), now: now)
        }
    }

    /// What one request is answered, once it is durable.
    func ask(_ operation: Operation) throws(StorageError) -> Reply? {
        let connection = ConnectionID(loop: 0, kind: .http, serial: 1)
        let request = Request(connection: connection, number: 1, operation: operation)
        let record = database.process([database.preparation.prepared(request)], now: now)
        if let record { try log.append([record]) }
        database.committed(through: record?.lastSequence ?? database.sequence)
        var reply: Reply?
        for case .reply(_, _, let last) in database.takeReady() { reply = last }
        return reply
    }

    /// All records of one group commit.
    func commit(_ records: [LogRecord]) throws(StorageError) {
        try log.append(records)
        if let last = records.last { database.committed(through: last.lastSequence) }
        _ = database.takeReady()
    }

    /// Goes back to the durable data, as after a failed commit.
    func recover(from error: StorageError) throws(StorageError) {
        unapplied = nil
        var operations: [LoggedOperation] = []
        try log.forEachRecord(after: appliedSequence) { (record) throws(StorageError) in
            operations += try record.operations()
        }
        try database.refuse(because: error, storeSequence: appliedSequence, replaying: operations)
        _ = database.takeReady()
        database.accept()
    }

    func apply() throws(StorageError) {
        if unapplied == nil { database.freeze() }
        while let frozen = unapplied ?? database.takeFrozen() {
            unapplied = frozen
            try tree.apply(frozen.changes, upTo: frozen.sequence)
            unapplied = nil
            if let generation = frozen.generation { database.applied(generation) }
            appliedSequence = frozen.sequence
        }
    }

    /// A step of what ``apply()`` does, if that has to do with a large value.
    func applySome() throws(StorageError) {
        if unapplied == nil { database.freeze() }
        unapplied = unapplied ?? database.takeFrozen()
        if let unapplied { _ = try tree.writeSome(of: unapplied.changes, upTo: unapplied.sequence) }
    }

    func prune() throws(StorageError) {
        _ = try log.prune(before: .max, keepingBytes: .max, appliedSequence: appliedSequence, rowsMax: 3)
    }

    /// Does one of the operations between turns, or nothing. True if the database is to be opened again instead.
    func keepUp(_ choice: Int) throws(StorageError) -> Bool {
        switch choice {
        case 0...1: try apply()
        case 2: try applySome()
        case 3: try prune()
        case 4: _ = try tree.emptyWriteAheadFile()
        default: break
        }
        return choice == 5
    }

    func value(at path: Path = .root) throws -> CanonicalJSON { try database.rows.read(path) }

    /// The tree as the rows alone have it.
    static func storedValue(_ store: any RowStore) throws -> CanonicalJSON {
        var joiner = RowJoiner(base: 0)
        let cursor = try store.rows(from: [], below: Path.root.subtreeEnd)
        while let row = try cursor.next() { joiner.append(key: row.key, value: row.value) }
        return joiner.finish()
    }
}

/// Random turns over few places, with values that are spread over many rows, and removals of whole parts.
struct TurnGenerator {
    private var trees: RandomTrees

    init(seed: UInt64) {
        trees = RandomTrees(seed: seed)
        trees.keyPool = ["a", "b", "c", "0", "17", "é", "long key of a child"].map { Array($0.utf16) }
    }

    private mutating func path() -> Path {
        let depth = trees.pick([0, 1, 1, 2, 2, 3])
        return (0..<depth).reduce(Path.root) { path, _ in
            let key = String(decoding: trees.key(), as: UTF16.self)
            return path.appending((try? Key(validating: key)) ?? Key(0))
        }
    }

    private mutating func value() -> CanonicalJSON {
        switch Int.random(in: 0..<8, using: &trees.random) {
        case 0...1: return .null
        case 2...3: return CanonicalJSON(integer: Int64.random(in: -5...5, using: &trees.random))
        case 4:
            // Many rows.
            let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 20))
            return (0..<Int32(trees.pick([8, 30]))).reduce(.null) { $0.setting(text, at: Path([Key($1)])) }
        case 5: return CanonicalJSON(string: Array(repeating: UInt8(ascii: "y"), count: trees.pick([50, 9000])))
        default: return CanonicalJSON(trees.tree(depth: 3).canonicalText)
        }
    }

    mutating func operation() -> Operation {
        if trees.chance(1, in: 8) {
            let priority = trees.pick([.null, CanonicalJSON(integer: Int64.random(in: 1...9, using: &trees.random))])
            return .set(WriteTarget(path: path(), isPriority: true), IncomingValue(json: priority))
        }
        guard trees.chance(1, in: 3) else { return .set(WriteTarget(path: path()), IncomingValue(json: value())) }
        let base = path()
        var entries: [(target: WriteTarget, value: IncomingValue)] = []
        for index in 0..<Int32(3) {
            entries.append((WriteTarget(path: base.appending(Key(index))), IncomingValue(json: value())))
        }
        let update = Operation.update(base: base, entries)
        return trees.chance(1, in: 2) ? update : update.asText(childrenOf: base) ?? update
    }

    mutating func turns(_ count: Int) -> [[Operation]] {
        (0..<count).map { _ in (0..<trees.pick([1, 1, 3])).map { _ in operation() } }
    }
}
