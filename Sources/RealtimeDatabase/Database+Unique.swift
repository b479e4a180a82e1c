package import HearthJSONTree
import HearthSecurityRules
package import HearthStorageErrors

/// Two children of a collection that share a value that must be unique.
package struct UniqueDuplicate: Hashable, Sendable {
    package var collection: Path
    package var first: Key
    package var second: Key
}

/// The children that share values that must be unique.
struct UniqueFindings {
    /// Pairs that are kept, to be named.
    static let pairsMax = 100

    private(set) var pairs: [UniqueDuplicate] = []
    private(set) var count = 0

    mutating func add(_ pair: UniqueDuplicate) {
        if pairs.count < Self.pairsMax { pairs.append(pair) }
        count += 1
    }

    mutating func keep(_ isLeft: (UniqueDuplicate) -> Bool) { pairs.removeAll { !isLeft($0) } }
}

/// A value that must be unique, and whether it is.
package struct UniqueStatus: Sendable {
    package enum State: String, Sendable {
        /// The children that were there before the setting are being looked at. New duplicates of those that were not
        /// looked at yet are let in, and found.
        case building
        /// There are no duplicates, and none is let in.
        case enforced
        /// There are duplicates from before the setting. No others are let in.
        case conflicts
    }

    /// As in the settings file: the collections, with `$` for wildcards, and what is compared of their children.
    package var pattern: String
    package var index: QueryIndex
    package var state: State
    /// The first pairs of children that share a value, and how many more there were than the first of each value.
    package var duplicates: [UniqueDuplicate] = []
    package var duplicateCount = 0
}

extension Database {
    /// Throws if a write gives two children of a collection a value that must be unique there. `assignments` are those
    /// of one commit, not applied yet; `prepared` are the rows of the first large value among them.
    func checkUnique(_ assignments: [Assignment], _ prepared: PreparedRows?) throws(Failure) {
        guard indexTrie.hasUniques else { return }
        if let conflict = try uniqueConflict(assignments, prepared) { throw .notUnique(conflict) }
    }

    private func uniqueConflict(
        _ assignments: [Assignment], _ prepared: PreparedRows?
    ) throws(Failure) -> UniqueConflict? {
        var check = UniqueCheck(rows, entries, assignments)
        for assignment in assignments where !assignment.target.isPriority {
            let path = assignment.target.path
            var concerned: [(indexes: [IndexCatalog.Index], child: Range<Int>)] = []
            let nodes = indexTrie.walk(path) { concerned.append(($0, $1)) }
            for (indexes, range) in concerned {
                let (collection, child) = (path.prefix(bytes: range.lowerBound), path.prefix(bytes: range.upperBound))
                try Self.reading { () throws(RuleTreeError) in
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

    // MARK: Data that was there before

    /// Looks whether a child shares its value with one whose key comes before it.
    func findDuplicate(
        of place: IndexPlace, in collection: Path, _ index: IndexCatalog.Index
    ) throws(StorageError) {
        let valueEnd = place.segmentRange.lowerBound
        guard UniqueValue.isCompared(place.bytes[..<valueEnd]) else { return }
        let prefix = IndexEntries.prefix(of: index.number, at: collection)
        let value = prefix + place.bytes[..<valueEnd]
        try entries.scan(from: value, below: prefix + place.bytes, .ascending) { key in
            let first = IndexPlace(Array(key[prefix.count...]))
            duplicates.add(UniqueDuplicate(collection: collection, first: first.key, second: place.key))
            return false
        }
    }

    /// All children of an index were looked at. Answers whether no two shared a value.
    func finishLooking(for index: IndexCatalog.Index) -> Bool {
        defer { duplicates = UniqueFindings() }
        uniqueFindings[index.number] = duplicates
        return duplicates.count == 0
    }

    /// The values that must be unique. Duplicates that are not any more are not named; when none of those that were
    /// named is left, all children are looked at again. Costs two look-ups per pair that is named.
    package func uniqueStatus() throws(StorageError) -> [UniqueStatus] {
        var list: [UniqueStatus] = []
        for index in catalog.uniques {
            var status = UniqueStatus(
                pattern: index.definition.pattern.text, index: index.definition.index, state: .enforced)
            if !index.isProven, var findings = uniqueFindings[index.number] {
                var left: Set<UniqueDuplicate> = []
                for pair in findings.pairs where try isDuplicate(pair, index) { left.insert(pair) }
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

    private func isDuplicate(_ pair: UniqueDuplicate, _ index: IndexCatalog.Index) throws(StorageError) -> Bool {
        var values: [ArraySlice<UInt8>] = []
        for key in [pair.first, pair.second] {
            let child = pair.collection.appending(Path([key]))
            let segment = Array(child.encoded[pair.collection.encoded.count...])
            guard let place = try rows.place(of: child, segment: segment, in: index.definition.index) else {
                return false
            }
            values.append(place.bytes[..<place.segmentRange.lowerBound])
        }
        return values[0] == values[1] && UniqueValue.isCompared(values[0])
    }
}
