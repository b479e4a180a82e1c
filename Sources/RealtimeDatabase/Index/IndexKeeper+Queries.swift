import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

extension IndexKeeper {
    /// A complete index that has what a query selects.
    struct Plan {
        let index: IndexCatalog.Index
        let range: IndexRange
    }

    func plan(for query: Query, at path: Path) -> Plan? {
        if trie.isEmpty { return nil }
        for index in trie.indexes(at: path) where index.isComplete {
            if let range = IndexRange(of: query, in: index.definition.index) { return Plan(index: index, range: range) }
        }
        return nil
    }

    /// The first value that a write gives to two children of a collection where it must be unique. `assignments` are
    /// those of one commit, not applied yet; `prepared` are the rows of the first large value among them.
    func uniqueConflict(
        _ assignments: [Assignment], _ prepared: PreparedRows?, in rows: TreeRows
    ) throws(Failure) -> UniqueConflict? {
        var check = UniqueCheck(rows, entries, assignments)
        for assignment in assignments where !assignment.target.isPriority {
            let path = assignment.target.path
            var concerned: [(indexes: [IndexCatalog.Index], child: Range<Int>)] = []
            let nodes = trie.walk(path) { concerned.append(($0, $1)) }
            for (indexes, range) in concerned {
                let (collection, child) = (path.prefix(bytes: range.lowerBound), path.prefix(bytes: range.upperBound))
                try Database.reading { () throws(RuleTreeError) in
                    for index in indexes where index.isUnique { try check.add(child, of: collection, index) }
                }
            }
            if let prepared, let entries = prepared.entries, entries.isOf(catalog.indexes),
                prepared.value.isSameText(as: assignment.value)
            {
                guard let found = entries.conflict else { continue }
                return UniqueConflict(collection: path.appending(found.collection), index: found.index)
            }
            for node in nodes {
                let value = assignment.value
                if let found = UniqueCheck.conflict(in: value, value.range, at: path, node) { return found }
            }
        }
        do throws(StorageError) {
            return try check.conflict()
        } catch {
            throw .unavailable(error)
        }
    }
}
