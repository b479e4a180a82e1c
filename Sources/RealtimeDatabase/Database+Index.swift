import HearthJSONTree
package import HearthSecurityRules
package import HearthStorageErrors

/// A child whose places in indexes an assignment may change, and where it stood before.
private struct IndexedChild {
    let collection: Path
    let segment: [UInt8]
    let indexes: [(index: IndexCatalog.Index, before: IndexPlace?)]
}

extension Database {
    // MARK: Writing

    /// Changes rows by `body`, and the entries of all indexes that the assignment concerns. `prepared` are those of the
    /// collections in its value, if that is large.
    func keepingIndexes(
        _ assignment: Assignment, _ prepared: PreparedEntries? = nil, _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        if childCounts.isEmpty, catalog.expiries.isEmpty, catalog.queues.isEmpty {
            return try keepingEntries(assignment, prepared, body)
        }
        try keepingJobs(assignment, isPrepared: prepared != nil) { () throws(StorageError) in
            try keepingTimes(assignment) { () throws(StorageError) in
                try childCounts.keeping(assignment, settings.childLimits, rows) { () throws(StorageError) in
                    try keepingEntries(assignment, prepared, body)
                }
            }
        }
    }

    private func keepingEntries(
        _ assignment: Assignment, _ prepared: PreparedEntries?, _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let path = assignment.target.path
        // No index orders by priorities of its own.
        if indexTrie.isEmpty || assignment.target.isPriority { return try body() }
        var concerned: [(indexes: [IndexCatalog.Index], child: Range<Int>)] = []
        let nodes = indexTrie.walk(path) { concerned.append(($0, $1)) }
        var children: [IndexedChild] = []
        for (indexes, range) in concerned {
            let child = path.prefix(bytes: range.upperBound)
            let segment = Array(path.encoded[range])
            var before: [(IndexCatalog.Index, IndexPlace?)] = []
            for index in indexes {
                before.append((index, try rows.place(of: child, segment: segment, in: index.definition.index)))
            }
            let collection = path.prefix(bytes: range.lowerBound)
            children.append(IndexedChild(collection: collection, segment: segment, indexes: before))
        }
        try body()
        for child in children { try moveEntries(of: child) }
        if let prepared {
            entries.attach(prepared, at: path, generation: rows.generation)
        } else if nodes.contains(where: { !$0.indexes.isEmpty || !$0.isLeaf }) {
            entries.clear(path, generation: rows.generation)
            for node in nodes { addEntries(node, at: path, of: assignment.value, assignment.value.range) }
        }
    }

    private func moveEntries(of child: IndexedChild) throws(StorageError) {
        let path = Path(encoded: child.collection.encoded + child.segment)
        for (index, before) in child.indexes {
            let after = try rows.place(of: path, segment: child.segment, in: index.definition.index)
            if before == after { continue }
            let prefix = IndexEntries.prefix(of: index.number, at: child.collection)
            if let before { entries.set(prefix + before.bytes, isPresent: false, generation: rows.generation) }
            if let after { entries.set(prefix + after.bytes, isPresent: true, generation: rows.generation) }
        }
    }

    /// Adds the entries of all collections in a value, whose text is `range` of `json`.
    private func addEntries(_ node: IndexTrie.Node, at path: Path, of json: CanonicalJSON, _ range: Range<Int>) {
        if json.isNull { return }
        for child in json.children(in: range) {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            for index in node.indexes {
                let place = index.definition.index.place(of: json, in: child.value, segment: segment)
                let key = IndexEntries.prefix(of: index.number, at: path) + place.bytes
                entries.set(key, isPresent: true, generation: rows.generation)
            }
            if node.isLeaf { continue }
            for next in node.children(segment) {
                addEntries(next, at: Path(encoded: path.encoded + segment), of: json, child.value)
            }
        }
    }

    /// The entries of the collections in a large value: as they were made beforehand, unless there have been other
    /// indexes since.
    func preparedEntries(for assignment: Assignment, _ prepared: PreparedRows?) -> PreparedEntries? {
        guard let nodes = indexTrie.concerned(byValueAt: assignment.target.path) else { return nil }
        if let entries = prepared?.entries, entries.isOf(catalog.indexes) { return entries }
        return PreparedEntries(assignment.value, nodes, of: catalog.indexes)
    }

    // MARK: Reading

    /// A complete index that has what a query selects.
    struct Plan {
        let index: IndexCatalog.Index
        let range: IndexRange
    }

    func plan(for query: Query, at path: Path) -> Plan? {
        if indexTrie.isEmpty { return nil }
        for index in indexTrie.indexes(at: path) where index.isComplete {
            if let range = IndexRange(of: query, in: index.definition.index) { return Plan(index: index, range: range) }
        }
        return nil
    }

    // MARK: Building

    /// Some index does not have all its entries yet, or values that must be unique have not all been looked at.
    package var isBuildingIndex: Bool {
        unfinishedIndex != nil || unfinishedExpiry != nil || unfinishedQueue != nil
    }

    private var unfinishedIndex: IndexCatalog.Index? {
        catalog.indexes.first { !$0.isComplete || $0.isUnique && !$0.isProven && uniqueFindings[$0.number] == nil }
    }

    /// Adds some entries of indexes that are not complete: those of up to `childrenMax` children. Writes keep up the
    /// others meanwhile, and adding an entry twice does no harm, so a build that is cut off begins anew. Of values that
    /// must be unique it finds those that are not. Costs about one row per child.
    package func buildIndex(childrenMax: Int = 200) throws(StorageError) {
        var left = childrenMax
        while left > 0, let index = unfinishedIndex, refusal == nil, tornBy == nil {
            var build = indexBuild ?? IndexBuild(index)
            if build.index.number != index.number { build = IndexBuild(index) }
            let isDone = try build.walk.step(rows, childrenLeft: &left) { (collection, child) throws(StorageError) in
                guard let place = try rows.place(of: child, below: collection, in: index.definition.index) else {
                    return
                }
                if index.isUnique { try findDuplicate(of: place, in: collection, index) }
                if index.isComplete { return }
                let key = IndexEntries.prefix(of: index.number, at: collection) + place.bytes
                entries.set(key, isPresent: true, generation: rows.generation)
            }
            indexBuild = isDone ? nil : build
            if isDone {
                catalog.complete(index.number, isProven: index.isUnique && finishLooking(for: index))
                indexTrie = IndexTrie(catalog.indexes)
                catalogChanged = true
            }
        }
        try buildExpiries(childrenLeft: &left)
        try buildQueues(childrenLeft: &left)
    }

    /// Numbers of indexes whose definition has gone, and of which the store has all the entries that it will ever have:
    /// they should be removed.
    package var droppedIndexes: Set<UInt32> { sweepable }

    /// The store has no entries of these indexes any more.
    package func forgetDroppedIndexes(_ numbers: Set<UInt32>) {
        catalog.forgetDropped(numbers)
        sweepable.subtract(numbers)
        catalogChanged = true
    }

    /// Sets what is to be indexed, as the rules say, and what must be unique and is counted, as the settings say.
    package func setIndexes(_ definitions: [IndexDefinition], _ settings: DatabaseSettings = DatabaseSettings()) {
        let before = catalog.stored
        catalog.set(
            definitions + settings.indexes, uniques: settings.uniques, counters: settings.counters,
            expiries: settings.expiries, queues: settings.queues)
        counterBuild = nil
        expiryBuild = nil
        queueBuild = nil
        claims.lookAgain()
        nextExpiry = catalog.expiries.isEmpty ? .max : 0
        childCounts = ChildCounts()
        if settings.rateLimits != self.settings.rateLimits { rates = RateTable() }
        uniqueFindings = [:]
        duplicates = UniqueFindings()
        setTriggers(settings.triggers)
        indexTrie = IndexTrie(catalog.indexes)
        if catalog.stored != before { catalogChanged = true }
        (self.definitions, self.settings) = (definitions, settings)
    }
}
