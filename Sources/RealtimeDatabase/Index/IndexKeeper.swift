import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// The data kept with the tree of a database, so that children are found, counted, kept unique and dropped in time: the
/// indexes of rules and settings, their entries, totals, and times of expiry.
///
/// Every change of rows goes through ``keeping(_:_:in:_:)``, which brings the entries along. Data from before a setting
/// is processed in steps (``build(childrenMax:in:)``, ``countSome(childrenMax:in:)``). Indexes are used when that is
/// done.
final class IndexKeeper {
    /// The indexes of the rules; nil until rules are set.
    private var definitions: [IndexDefinition]?
    private(set) var settings = DatabaseSettings()
    /// The indexes there are.
    var catalog = IndexCatalog()
    /// Those of the catalog, by collection.
    private(set) var trie = IndexTrie([])
    /// All that a write can have to do with.
    private var patterns = ConcernedPatterns([])
    private(set) var entries: IndexEntries
    /// Of collections that have a limit.
    private(set) var childCounts = ChildCounts()
    /// No child expires before, in milliseconds since 1970.
    private(set) var nextExpiry = Int64.max
    /// No removal is tried before: one has failed, or children from before a setting are still being found.
    private var nextRemoval = Int64.min
    /// Those whose removal has failed, if any.
    var passedChildren: PassedChildren?
    /// The store does not have the catalog as it is.
    var isCatalogChanged = false

    private var indexBuild: IndexBuild?
    var counterBuild: CounterBuild?
    /// What the totals of a write are, as long as nothing has changed since.
    var totalsInSight: WrittenTotals?
    private var expiryBuild: ExpiryBuild?
    private var queueBuild: QueueBuild?
    let jobs: JobNews
    /// The known duplicates of unique values, by the number of their index, once all children were checked; and of the
    /// index that is being checked.
    private var uniqueFindings: [UInt32: UniqueFindings] = [:]
    private var duplicates = UniqueFindings()
    /// Numbers of dropped indexes of which the store has all the entries that it will ever have.
    private(set) var sweepable: Set<UInt32> = []
    /// Those for which that is so once the store has a generation.
    private var sweepableLater: (numbers: Set<UInt32>, generation: UInt64)?

    init(store: any RowStore, _ jobs: JobNews) {
        entries = IndexEntries(store: store)
        self.jobs = jobs
    }

    /// Replaces the known state by that of a store.
    func load(_ store: any RowStore) throws(StorageError) {
        catalog = try store.indexCatalog().map(IndexCatalog.init) ?? IndexCatalog()
        entries = IndexEntries(store: store)
        childCounts = ChildCounts()
        isCatalogChanged = false
        (indexBuild, counterBuild, expiryBuild, queueBuild) = (nil, nil, nil, nil)
        totalsInSight = nil
        sweepable = Set(catalog.dropped)
        sweepableLater = nil
        trie = IndexTrie(catalog.indexes)
        nextExpiry = catalog.expiries.isEmpty ? .max : 0
        passedChildren = nil
        if let definitions { set(definitions, settings) } else { patterns = ConcernedPatterns(catalog.patterns) }
    }

    /// Sets the indexes of the rules, and the unique values and counters of the settings.
    func set(_ definitions: [IndexDefinition], _ settings: DatabaseSettings) {
        let before = catalog.stored
        catalog.set(
            definitions + settings.indexes, uniques: settings.uniques, counters: settings.counters,
            expiries: settings.expiries, queues: settings.queues)
        (counterBuild, expiryBuild, queueBuild, totalsInSight) = (nil, nil, nil, nil)
        (nextExpiry, nextRemoval) = (catalog.expiries.isEmpty ? .max : 0, .min)
        passedChildren = nil
        childCounts = ChildCounts()
        uniqueFindings = [:]
        duplicates = UniqueFindings()
        trie = IndexTrie(catalog.indexes)
        if catalog.stored != before { isCatalogChanged = true }
        (self.definitions, self.settings) = (definitions, settings)
        patterns = ConcernedPatterns(catalog.patterns + settings.patterns)
    }

    /// Whether an index or a setting, other than triggers and histories, has to do with writes at a path. Else they
    /// change the tree alone.
    func areConcerned(by path: Path) -> Bool { patterns.concern(path) }

    /// The same for an encoded path.
    func areConcerned(by path: UnsafeRawBufferPointer) -> Bool { patterns.concern(path) }

    // MARK: Storing

    /// Moves what changed to the rows that are frozen as a generation.
    func freeze(_ generation: UInt64, into changes: inout RowChanges) {
        changes.entries = entries.freeze(generation)
        guard isCatalogChanged else { return }
        changes.indexCatalog = catalog.stored
        sweepableLater = (Set(catalog.dropped), generation)
        isCatalogChanged = false
    }

    /// The store has this generation and all before.
    func applied(_ generation: UInt64) {
        entries.applied(generation)
        guard let later = sweepableLater, later.generation <= generation else { return }
        sweepable = later.numbers
        sweepableLater = nil
    }

    /// No entries of dropped indexes are left to be removed from the store, now or later.
    var isSwept: Bool { sweepable.isEmpty && sweepableLater == nil }

    /// The store has no entries of these dropped indexes any more.
    func forgetDropped(_ numbers: Set<UInt32>) {
        catalog.forgetDropped(numbers)
        sweepable.subtract(numbers)
        isCatalogChanged = true
    }

    // MARK: Earlier data

    /// Some index does not have all its entries yet, or values that must be unique have not all been looked at.
    var isBuilding: Bool { unfinishedIndex != nil || unfinishedExpiry != nil || unfinishedQueue != nil }

    private var unfinishedIndex: IndexCatalog.Index? {
        catalog.indexes.first { !$0.isComplete || $0.isUnique && !$0.isProven && uniqueFindings[$0.number] == nil }
    }

    private var unfinishedExpiry: IndexCatalog.Expiry? { catalog.expiries.first { !$0.isComplete } }

    private var unfinishedQueue: IndexCatalog.Queue? { catalog.queues.first { !$0.isComplete } }

    /// Adds some entries of indexes that are not complete: those of up to `childrenMax` children. Writes keep up the
    /// others meanwhile, and adding an entry twice does no harm, so a build that is cut off starts over. Of values that
    /// must be unique it finds those that are not. Costs about one row per child.
    func build(childrenMax: Int, in rows: TreeRows) throws(StorageError) {
        var left = childrenMax
        while left > 0, let index = unfinishedIndex {
            var build = indexBuild ?? IndexBuild(index)
            if build.index.number != index.number { build = IndexBuild(index) }
            let isDone = try build.walk.step(rows, childrenLeft: &left) { (collection, child) throws(StorageError) in
                guard let place = try rows.place(of: child, below: collection, in: index.definition.index) else {
                    return
                }
                if index.isUnique { try findDuplicate(of: place, in: collection, index) }
                if index.isComplete { return }
                let key = IndexEntryKey.prefix(of: index.number, at: collection) + place.bytes
                entries.set(key, isPresent: true, generation: rows.generation)
            }
            indexBuild = isDone ? nil : build
            if isDone {
                catalog.complete(index.number, isProven: index.isUnique && finishLooking(for: index))
                trie = IndexTrie(catalog.indexes)
                isCatalogChanged = true
            }
        }
        try buildExpiries(childrenLeft: &left, in: rows)
        try buildQueues(childrenLeft: &left, in: rows)
    }

    /// Adds entries of children that were there before a setting.
    private func buildExpiries(childrenLeft left: inout Int, in rows: TreeRows) throws(StorageError) {
        while left > 0, let expiry = unfinishedExpiry {
            var build = expiryBuild ?? ExpiryBuild(expiry)
            if build.expiry.number != expiry.number { build = ExpiryBuild(expiry) }
            let isDone = try build.walk.step(rows, childrenLeft: &left) { (collection, child) throws(StorageError) in
                let path = collection.encoded + child.segment
                let time =
                    if let value = child.value {
                        expiry.definition.time(of: value, in: value.range)
                    } else {
                        try Self.time(of: path, expiry, in: rows)
                    }
                if let time { addExpiry(expiry, time, path, in: rows) }
            }
            expiryBuild = isDone ? nil : build
            if isDone {
                catalog.completeExpiry(expiry.number)
                isCatalogChanged = true
            }
        }
    }

    /// Adds entries of jobs that were there before a setting.
    private func buildQueues(childrenLeft left: inout Int, in rows: TreeRows) throws(StorageError) {
        while left > 0, let queue = unfinishedQueue {
            var build = queueBuild ?? QueueBuild(queue)
            if build.queue.number != queue.number { build = QueueBuild(queue) }
            let isDone = try build.walk.step(rows, childrenLeft: &left) { (jobs, child) throws(StorageError) in
                let place = jobs.prefix(bytes: jobs.encoded.count - QueueDefinition.jobs.encoded.count)
                if let due = try due(child.segment, queue, place, in: rows) {
                    addJob(child.segment, due, queue, place, in: rows)
                }
            }
            queueBuild = isDone ? nil : build
            if isDone {
                catalog.completeQueue(queue.number)
                isCatalogChanged = true
            }
        }
    }

    // MARK: Values that must be unique

    /// Looks whether a child shares its value with one whose key comes before it.
    private func findDuplicate(
        of place: IndexPlace, in collection: Path, _ index: IndexCatalog.Index
    ) throws(StorageError) {
        let valueEnd = place.segmentRange.lowerBound
        guard UniqueValue.isCompared(place.bytes[..<valueEnd]) else { return }
        let prefix = IndexEntryKey.prefix(of: index.number, at: collection)
        let value = prefix + place.bytes[..<valueEnd]
        try entries.scan(from: value, below: prefix + place.bytes, .ascending) { key in
            let first = IndexPlace(Array(key[prefix.count...]))
            duplicates.add(UniqueDuplicate(collection: collection, first: first.key, second: place.key))
            return false
        }
    }

    /// All children of an index were looked at. Returns whether no two shared a value.
    private func finishLooking(for index: IndexCatalog.Index) -> Bool {
        defer { duplicates = UniqueFindings() }
        uniqueFindings[index.number] = duplicates
        return duplicates.count == 0
    }

    /// The values that must be unique. Duplicates that are not any more are not named; when none of those that were
    /// named is left, all children are looked at again. Costs two look-ups per pair that is named.
    func uniqueStatus(in rows: TreeRows) throws(StorageError) -> [UniqueStatus] {
        var list: [UniqueStatus] = []
        for index in catalog.uniques {
            var status = UniqueStatus(
                pattern: index.definition.pattern.text, index: index.definition.index, state: .enforced)
            if !index.isProven, var findings = uniqueFindings[index.number] {
                var left: Set<UniqueDuplicate> = []
                for pair in findings.pairs where try pair.isDuplicate(index, in: rows) { left.insert(pair) }
                findings.keep(left.contains)
                uniqueFindings[index.number] = findings.pairs.isEmpty ? nil : findings
                (status.duplicates, status.duplicateCount) = (findings.pairs, findings.count)
                status.state = findings.pairs.isEmpty ? .building : .conflicts
            } else if !index.isProven {
                status.state = .building
            }
            list.append(status)
        }
        return list
    }

    // MARK: Times of expiry

    /// A child expires at a time, or may.
    func expire(at time: Int64) {
        nextExpiry = min(nextExpiry, time)
        if passedChildren != nil { nextRemoval = min(nextRemoval, time) }
    }

    /// Some child may have to be removed now.
    func mayExpire(at now: Int64) -> Bool { now >= nextExpiry && now >= nextRemoval }

    /// No child expires before `time`, as all entries say.
    func postponeExpiry(to time: Int64) { nextExpiry = time }

    /// No removal is tried before `time`, although children may be due.
    func postponeRemoval(to time: Int64) { (nextExpiry, nextRemoval) = (0, time) }

    /// Children have been looked for, and are about to be removed.
    func planRemoval(after due: DueChildren, now: Int64) {
        if let search = passedChildren?.nextSearch(after: due, now: now) {
            postponeRemoval(to: knowsExpiries ? search : min(search, now + Self.buildPause))
        } else if knowsExpiries {
            postponeExpiry(to: due.next)
        } else {
            // Others are found meanwhile.
            postponeRemoval(to: due.children.isEmpty ? now + Self.buildPause : now)
        }
    }

    /// The removal of some of them failed. The next search begins after them.
    func passOver(_ due: DueChildren, now: Int64) {
        var passed = passedChildren ?? PassedChildren()
        passed.add(due)
        passedChildren = passed
        planRemoval(after: due, now: now)
    }

    /// The clock was set: the next look may have been put off to a time that is far away now.
    func lookForExpired() {
        if catalog.expiries.isEmpty { return }
        passedChildren = nil
        postponeRemoval(to: 0)
    }

    /// In milliseconds, before a look for children that are being found meanwhile.
    private static let buildPause: Int64 = 100

    /// All children that have a time have an entry.
    var knowsExpiries: Bool { unfinishedExpiry == nil }

    /// Traps if parts of the state contradict each other. O(indexes).
    func checkInvariants() {
        let numbers =
            catalog.indexes.map(\.number) + catalog.expiries.map(\.number)
            + catalog.queues.map(\.number) + catalog.counters.map(\.number) + catalog.dropped
        precondition(Set(numbers).count == numbers.count, "two indexes have one number")
        precondition(sweepable.isSubset(of: catalog.dropped), "entries of an index are removed that is in use")
        precondition(trie.isEmpty == catalog.indexes.isEmpty, "the trie is not that of the catalog")
        precondition(
            !catalog.expiries.isEmpty || nextExpiry == .max, "a child is to expire, and no setting says so")
        precondition(counterBuild == nil || isCounting, "totals are counted that are known")
    }
}

extension UniqueDuplicate {
    /// Whether the two children share their value still.
    fileprivate func isDuplicate(_ index: IndexCatalog.Index, in rows: TreeRows) throws(StorageError) -> Bool {
        var values: [ArraySlice<UInt8>] = []
        for key in [first, second] {
            let child = collection.appending(Path([key]))
            let segment = Array(child.encoded[collection.encoded.count...])
            guard let place = try rows.place(of: child, segment: segment, in: index.definition.index) else {
                return false
            }
            values.append(place.bytes[..<place.segmentRange.lowerBound])
        }
        return values[0] == values[1] && UniqueValue.isCompared(values[0])
    }
}
