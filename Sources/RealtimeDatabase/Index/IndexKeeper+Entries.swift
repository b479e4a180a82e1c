import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// A child whose places in indexes an assignment may change, and where it stood before.
private struct IndexedChild {
    let collection: Path
    let segment: [UInt8]
    let indexes: [(index: IndexCatalog.Index, before: IndexPlace?)]
}

extension IndexKeeper {
    // MARK: Writing

    /// Changes rows by `body`, and the entries of all indexes that the assignment concerns. `prepared` are those of the
    /// collections in its value, if that is large.
    func keeping(
        _ assignment: Assignment, _ prepared: PreparedEntries? = nil, in rows: TreeRows,
        _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        if !areConcerned(by: assignment.target.path) { return try body() }
        // Those of the collections in the value are added at the end of its commit.
        if prepared == nil, replacesSums(assignment) {
            entries.clear(assignment.target.path, generation: rows.generation)
        }
        if childCounts.isEmpty, catalog.expiries.isEmpty, catalog.queues.isEmpty {
            return try keepingEntries(assignment, prepared, in: rows, body)
        }
        try keepingJobs(assignment, isPrepared: prepared != nil, in: rows) { () throws(StorageError) in
            try keepingTimes(assignment, in: rows) { () throws(StorageError) in
                try childCounts.keeping(assignment, rows) { () throws(StorageError) in
                    try keepingEntries(assignment, prepared, in: rows, body)
                }
            }
        }
    }

    private func keepingEntries(
        _ assignment: Assignment, _ prepared: PreparedEntries?, in rows: TreeRows,
        _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let path = assignment.target.path
        // No index orders by priorities of its own.
        if trie.isEmpty || assignment.target.isPriority { return try body() }
        var concerned: [(indexes: [IndexCatalog.Index], child: Range<Int>)] = []
        let nodes = trie.walk(path) { concerned.append(($0, $1)) }
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
        for child in children { try moveEntries(of: child, in: rows) }
        if let prepared {
            entries.attach(prepared, at: path, generation: rows.generation)
        } else if nodes.contains(where: { !$0.indexes.isEmpty || !$0.isLeaf }) {
            entries.clear(path, generation: rows.generation)
            for node in nodes {
                let value = assignment.value
                addEntries(node, at: path, of: value, value.range, generation: rows.generation)
            }
        }
    }

    private func moveEntries(of child: IndexedChild, in rows: TreeRows) throws(StorageError) {
        let path = Path(encoded: child.collection.encoded + child.segment)
        for (index, before) in child.indexes {
            let after = try rows.place(of: path, segment: child.segment, in: index.definition.index)
            if before == after { continue }
            let prefix = IndexEntryKey.prefix(of: index.number, at: child.collection)
            if let before { entries.set(prefix + before.bytes, isPresent: false, generation: rows.generation) }
            if let after { entries.set(prefix + after.bytes, isPresent: true, generation: rows.generation) }
        }
    }

    /// Adds the entries of all collections in a value, whose text is `range` of `json`.
    private func addEntries(
        _ node: IndexTrie.Node, at path: Path, of json: CanonicalJSON, _ range: Range<Int>, generation: UInt64
    ) {
        if json.isNull { return }
        for child in json.children(in: range) {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            for index in node.indexes {
                let place = index.definition.index.place(of: json, in: child.value, segment: segment)
                let key = IndexEntryKey.prefix(of: index.number, at: path) + place.bytes
                entries.set(key, isPresent: true, generation: generation)
            }
            if node.isLeaf { continue }
            for next in node.children(segment) {
                addEntries(
                    next, at: Path(encoded: path.encoded + segment), of: json, child.value, generation: generation)
            }
        }
    }

    /// The entries of the collections in a large value: as they were made beforehand, unless there have been other
    /// indexes since.
    func preparedEntries(for assignment: Assignment, _ prepared: PreparedRows?) -> PreparedEntries? {
        guard let nodes = trie.concerned(byValueAt: assignment.target.path) else { return nil }
        if let entries = prepared?.entries, entries.isOf(catalog.indexes) { return entries }
        return PreparedEntries(assignment.value, nodes, of: catalog.indexes)
    }

    /// Changes rows by `body`, which is all of an assignment, and the entries of the children that it touches.
    private func keepingTimes(
        _ assignment: Assignment, in rows: TreeRows, _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let path = assignment.target.path
        if assignment.target.isPriority { return try body() }
        var touched: [(expiry: IndexCatalog.Expiry, child: [UInt8], before: Int64?)] = []
        var replaced: [(expiry: IndexCatalog.Expiry, collection: Path)] = []
        for expiry in catalog.expiries {
            expiry.definition.pattern.forEachPlace(concernedBy: assignment) { collection, isInValue in
                if isInValue || path == collection {
                    replaced.append((expiry, collection))
                } else {
                    let end = path.segmentEnd(from: collection.encoded.count)
                    touched.append((expiry, Array(path.encoded[..<end]), nil))
                }
            }
        }
        for place in touched.indices {
            touched[place].before = try Self.time(of: touched[place].child, touched[place].expiry, in: rows)
        }
        try body()
        for (expiry, child, before) in touched {
            let after = try Self.time(of: child, expiry, in: rows)
            if before == after { continue }
            if let before { entries.set(expiry.key(before, child), isPresent: false, generation: rows.generation) }
            if let after { addExpiry(expiry, after, child, in: rows) }
        }
        for (expiry, collection) in replaced {
            let value = assignment.value
            guard let relative = collection.suffix(after: path), let range = value.range(of: relative) else { continue }
            for child in value.children(in: range) {
                guard let time = expiry.definition.time(of: value, in: child.value) else { continue }
                var encoded = collection.encoded
                child.appendSegment(to: &encoded)
                addExpiry(expiry, time, encoded, in: rows)
            }
        }
    }

    func addExpiry(_ expiry: IndexCatalog.Expiry, _ time: Int64, _ child: [UInt8], in rows: TreeRows) {
        entries.set(expiry.key(time, child), isPresent: true, generation: rows.generation)
        expire(at: time)
    }

    static func time(
        of child: [UInt8], _ expiry: IndexCatalog.Expiry, in rows: TreeRows
    ) throws(StorageError) -> Int64? {
        do throws(RuleTreeError) {
            return try expiry.definition.time(ofChildAt: child, in: rows)
        } catch {
            throw error.storageError
        }
    }

    // MARK: Expiring

    /// Entries that are looked at, and removed if they are out of date, to find out whether a child is due.
    private static let dueLooksMax = 32

    /// Entries that are looked at to find the children that a limit is not to count.
    private static let countedLooksMax = 1000

    /// Whether the time of some child has come. Costs a row for each entry that is out of date.
    func isExpiryDue(at now: Int64, in rows: TreeRows) throws(StorageError) -> Bool {
        if now < nextExpiry { return false }
        if !knowsExpiries { return true }
        var next = Int64.max
        for expiry in catalog.expiries {
            var keys: [[UInt8]] = []
            try entries.scan(from: expiry.prefix, below: expiry.end, .ascending) { key in
                let time = expiry.time(ofKey: key)
                if time > now { next = min(next, time) } else { keys.append(key) }
                return time <= now && keys.count < Self.dueLooksMax
            }
            for key in keys {
                if let time = try Self.time(of: expiry.child(ofKey: key).encoded, expiry, in: rows), time <= now {
                    return true
                }
                entries.set(key, isPresent: false, generation: rows.generation)
            }
            if keys.count == Self.dueLooksMax { return true }
        }
        postponeExpiry(to: next)
        return false
    }

    /// The children whose time has come, the oldest first, up to so many. Costs a row for each.
    func takeExpired(at now: Int64, countMax: Int, in rows: TreeRows) throws(StorageError) -> DueChildren {
        if let retry = passedChildren?.retry, now >= retry { passedChildren = nil }
        var keys: [(expiry: IndexCatalog.Expiry, key: [UInt8])] = []
        var due = DueChildren()
        for expiry in catalog.expiries {
            let start = passedChildren?.ends[expiry.number].map { $0 + [0] } ?? expiry.prefix
            try entries.scan(from: start, below: expiry.end, .ascending) { key in
                let time = expiry.time(ofKey: key)
                if time > now || keys.count >= countMax {
                    due.next = min(due.next, time)
                    return false
                }
                keys.append((expiry, key))
                return true
            }
        }
        for (expiry, key) in keys {
            due.ends[expiry.number] = key
            let child = expiry.child(ofKey: key)
            do throws(StorageError) {
                if let time = try Self.time(of: child.encoded, expiry, in: rows), time <= now {
                    due.children.append(child)
                } else {
                    entries.set(key, isPresent: false, generation: rows.generation)
                }
            } catch {
                due.areUnreadable = true
            }
        }
        planRemoval(after: due, now: now)
        return due
    }

    /// The children of some collections whose time has come, as far as they are among those that wait longest. Without
    /// those that could not be removed.
    func expiredChildren(of collections: Set<Path>, at now: Int64, in rows: TreeRows) -> [Path] {
        var found: [Path] = []
        for expiry in catalog.expiries {
            let start = passedChildren?.ends[expiry.number].map { $0 + [0] } ?? expiry.prefix
            var children: [Path] = []
            var looks = 0
            // If storage fails, the write that asks for this fails as well.
            try? entries.scan(from: start, below: expiry.end, .ascending) { key in
                if looks >= Self.countedLooksMax || expiry.time(ofKey: key) > now { return false }
                looks += 1
                let child = expiry.child(ofKey: key)
                if let collection = child.parent, collections.contains(collection) { children.append(child) }
                return true
            }
            for child in children {
                if let time = try? Self.time(of: child.encoded, expiry, in: rows), time <= now { found.append(child) }
            }
        }
        return found
    }
}
