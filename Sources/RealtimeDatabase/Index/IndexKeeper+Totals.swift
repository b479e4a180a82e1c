import HearthJSONTree
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

/// A write with all totals that it changes, in the order in which its assignments take effect, and what else changes
/// with it when it is applied.
struct WrittenTotals {
    var assignments: [Assignment]
    var sums: [KeptSum]
    /// In the part of a collection that is counted already, while the rest is being counted.
    var partialChange: DecimalSum
}

/// Counts and sums that stand beside the data (``KeptTotals``), and the exact sums of those that no double can show.
extension IndexKeeper {
    /// Some totals are not known yet.
    var isCounting: Bool { catalog.counters.contains { !$0.isComplete } }

    /// The totals that a write must change and does not, and the write with them. Nothing changes with that.
    ///
    /// - parameter isChecked: throws if a sum would become larger than any number.
    func totals(
        after assignments: [Assignment], isChecked: Bool, in rows: TreeRows
    ) throws(Failure) -> (changed: [DerivedValue], assignments: [Assignment]) {
        var kept = KeptTotals(catalog.counters, entries, rows, assignments, counterBuild)
        let changed = try Failure.reading { () throws(RuleTreeError) in try kept.changedTotals() }
        if isChecked, let total = kept.tooLarge {
            let text = "The sum at \"\(total)\" would be larger than any number"
            throw .refusedBySetting(why: StaticText("sum"), text)
        }
        let all = changed.added(to: assignments)
        if keepsMoreThanTotals {
            let inOrder = Change.merge(base: .root, all).inOrder.assignments
            totalsInSight = WrittenTotals(assignments: inOrder, sums: kept.sums, partialChange: kept.partialChange)
        }
        return (changed, all)
    }

    /// Whether something changes with totals that is not in the data.
    private var keepsMoreThanTotals: Bool {
        counterBuild != nil || catalog.counters.contains { $0.definition.summed != nil }
    }

    /// What changes with assignments, which are about to be applied and have their totals; nil if nothing does. Costs
    /// as much as the totals did, unless these are the assignments that were looked at last.
    func changes(with assignments: [Assignment], in rows: TreeRows) throws(StorageError) -> WrittenTotals? {
        defer { totalsInSight = nil }
        guard keepsMoreThanTotals, assignments.contains(where: { areConcerned(by: $0.target.path) }) else { return nil }
        if let totalsInSight, totalsInSight.assignments == assignments { return totalsInSight }
        var kept = KeptTotals(catalog.counters, entries, rows, assignments, counterBuild)
        do throws(RuleTreeError) {
            _ = try kept.changedTotals()
        } catch {
            throw error.storageError
        }
        return WrittenTotals(assignments: assignments, sums: kept.sums, partialChange: kept.partialChange)
    }

    /// Keeps what changed with assignments, after they were applied.
    func keep(_ written: WrittenTotals, generation: UInt64) throws(StorageError) {
        try keep(written.sums, generation: generation)
        if counterBuild == nil { return }
        counterBuild?.add(written.partialChange)
        for assignment in written.assignments where !assignment.target.isPriority {
            counterBuild?.replace(assignment.target.path)
        }
    }

    /// Makes the entries say what sums are, after what changed them was applied.
    private func keep(_ sums: [KeptSum], generation: UInt64) throws(StorageError) {
        for sum in sums {
            let entry = sum.entry
            var isThere = false
            if catalog.counters.contains(where: { $0.number == sum.number && $0.hasSums }) {
                for known in try entries.sums(of: sum.number, at: sum.collection) {
                    isThere = isThere || known == entry
                    if known != entry { entries.set(known, isPresent: false, generation: generation, removal: .late) }
                }
            }
            guard let entry, !isThere else { continue }
            entries.set(entry, isPresent: true, generation: generation)
            catalog.noteSum(of: sum.number)
            isCatalogChanged = true
        }
    }

    /// Whether an assignment replaces collections as a whole that may have exact sums.
    func replacesSums(_ assignment: Assignment) -> Bool {
        if assignment.target.isPriority { return false }
        let path = assignment.target.path
        return catalog.counters.contains { counter in
            counter.hasSums && counter.definition.collections.segments.count >= path.depth
                && counter.definition.collections.concerns(path)
        }
    }

    /// Before an operation of the log is applied that this process has not judged. What the catalog says may be older
    /// than a time when the settings did not ask for it.
    ///
    /// - parameter large: the place of a large value that it brings, at which the store may lack what was there before.
    func willReplay(_ content: LoggedOperation.Content, large: Path? = nil, in rows: TreeRows) {
        if trie.hasUniques { catalog.forgetProofs() }
        guard !catalog.counters.isEmpty, case .change(let change) = content,
            catalog.counters.contains(where: { $0.definition.pattern.concerns(change.base) })
        else { return }
        let isPartOfSum = catalog.counters.contains { counter in
            guard let large, counter.definition.summed != nil else { return false }
            let collections = counter.definition.collections
            return collections.segments.count < large.depth && collections.matchesPrefix(of: large)
        }
        // An operation brings totals along if they were kept when it was made.
        let changed = (try? totals(after: change.assignments, isChecked: false, in: rows).changed) ?? []
        if changed.isEmpty, !isPartOfSum { return }
        forgetTotals()
    }

    /// Has all totals counted again.
    func forgetTotals() {
        catalog.forgetTotals()
        (counterBuild, totalsInSight) = (nil, nil)
        isCatalogChanged = true
    }

    /// Counts up to so many children of collections whose totals are not known. Returns the totals of those that are
    /// done. Costs about one row per child.
    func countSome(childrenMax: Int, in rows: TreeRows) throws(StorageError) -> [DerivedValue] {
        guard let counter = catalog.counters.first(where: { !$0.isComplete }) else { return [] }
        var build = counterBuild ?? CounterBuild(counter.definition)
        if build.definition != counter.definition { build = CounterBuild(counter.definition) }
        var left = childrenMax
        var totals: [DerivedValue] = []
        var sums: [KeptSum] = []
        let isDone = try build.step(rows, childrenLeft: &left) { collection, total in
            let end = collection.encoded.count - counter.definition.collection.encoded.count
            let target = collection.prefix(bytes: end).appending(counter.definition.target)
            let sum = KeptSum(counter.number, collection, total)
            totals.append(DerivedValue(target: target, value: sum.value))
            if counter.definition.summed != nil { sums.append(sum) }
        }
        try keep(sums, generation: rows.generation)
        (counterBuild, totalsInSight) = (isDone ? nil : build, nil)
        if isDone {
            catalog.complete(counter.definition)
            isCatalogChanged = true
        }
        return totals
    }
}
