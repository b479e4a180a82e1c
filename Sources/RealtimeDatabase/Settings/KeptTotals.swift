import HearthJSONTree
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

/// The effect of a write on the totals that are kept with the data: those that it changes, and those inside of data
/// that it replaces.
///
/// A total changes by the difference that the write makes to the children it touches, however large the collection is.
/// A collection that is written as a whole is counted in the text that is written.
struct KeptTotals {
    /// One total.
    private struct Place: Hashable {
        var counter: Int
        /// Of the pattern of the counter.
        var path: Path
    }

    private struct Change {
        var place: Place
        var isReplaced = false
        var children: Set<[UInt8]> = []
    }

    private let counters: [IndexCatalog.Counter]
    private let entries: IndexEntries
    private let before: any RuleTree
    private var assignments: [Assignment]
    private var after: WrittenTree
    private let build: CounterBuild?
    private var changes: [Change] = []
    private var places: [Place: Int] = [:]
    /// What becomes known of the collection that is being counted.
    private(set) var partialChange = DecimalSum()
    /// The sums of the totals that it concerns, as they must be after the write.
    private(set) var sums: [KeptSum] = []
    /// The first total that becomes larger than any double by the write.
    private(set) var tooLarge: Path?

    init(
        _ counters: [IndexCatalog.Counter], _ entries: IndexEntries, _ before: any RuleTree,
        _ assignments: [Assignment], _ build: CounterBuild?
    ) {
        self.counters = counters
        self.entries = entries
        self.before = before
        self.build = build
        self.assignments = assignments
        after = WrittenTree(before, assignments)
        for assignment in assignments where !assignment.target.isPriority {
            for number in counters.indices { add(assignment, number) }
        }
    }

    /// Notes the totals of a counter that an assignment concerns.
    private mutating func add(_ assignment: Assignment, _ counter: Int) {
        let definition = counters[counter].definition
        let path = assignment.target.path
        definition.pattern.forEachPlace(concernedBy: assignment) { base, isInValue in
            let place = Place(counter: counter, path: base)
            let collection = base.appending(definition.collection)
            let target = base.appending(definition.target)
            if isInValue || path.contains(collection) {
                note(place) { $0.isReplaced = true }
            } else if collection.contains(path) {
                let child = Array(path.encoded[..<path.segmentEnd(from: collection.encoded.count)])
                note(place) { $0.children.insert(child) }
            } else if path.contains(target), path != target {
                note(place) { _ in }
            }
        }
    }

    private mutating func note(_ place: Place, _ body: (inout Change) -> Void) {
        let number = places[place] ?? changes.count
        if number == changes.count {
            changes.append(Change(place: place))
            places[place] = number
        }
        body(&changes[number])
    }

    /// The totals that the write must change and does not; those of collections that are yet to be counted are left
    /// out. A total that goes can take its place along, which is one less for a count above: the deepest come first.
    mutating func changedTotals() throws(RuleTreeError) -> [DerivedValue] {
        var changed: [DerivedValue] = []
        var left = changes.sorted { depth(of: $0) > depth(of: $1) }[...]
        while let depth = left.first.map({ depth(of: $0) }) {
            let level = left.prefix { self.depth(of: $0) == depth }
            left.removeFirst(level.count)
            var totals: [DerivedValue] = []
            for change in level {
                if let total = try total(change), try !total.isThere(in: after) { totals.append(total) }
            }
            changed += totals
            if totals.isEmpty || left.isEmpty { continue }
            assignments = totals.added(to: assignments)
            after = WrittenTree(before, assignments)
        }
        return changed
    }

    private func depth(of change: Change) -> Int {
        counters[change.place.counter].definition.pattern.segments.count
    }

    /// The total as it must be after the write; nil if it is yet to be counted.
    private mutating func total(_ change: Change) throws(RuleTreeError) -> DerivedValue? {
        let counter = counters[change.place.counter]
        let collection = change.place.path.appending(counter.definition.collection)
        let target = change.place.path.appending(counter.definition.target)
        if !counter.isComplete {
            guard let build, build.definition == counter.definition else { return nil }
            switch build.progress(of: collection) {
            case .ahead: return nil
            case .underWay(let end):
                if !change.isReplaced {
                    partialChange.add(try difference(change, counter.definition) { $0.precedesBytewise(end) })
                }
                return nil
            case .done: break
            }
        }
        let known = change.isReplaced ? DecimalSum() : try sum(counter, collection, target)
        var sum = known
        sum.add(
            change.isReplaced
                ? try counter.definition.total(ofChildrenOf: collection.encoded, in: after)
                : try difference(change, counter.definition) { _ in true })
        let kept = KeptSum(counter.number, collection, sum)
        // What was too large before can become less.
        if kept.shown == nil, tooLarge == nil, known.number != nil { tooLarge = target }
        if counter.definition.summed != nil { sums.append(kept) }
        return DerivedValue(target: target, value: kept.value)
    }

    /// The sum before the write.
    private func sum(
        _ counter: IndexCatalog.Counter, _ collection: Path, _ target: Path
    ) throws(RuleTreeError) -> DecimalSum {
        if counter.hasSums {
            do throws(StorageError) {
                if let sum = try entries.sum(of: counter.number, at: collection) { return sum }
            } catch {
                throw RuleTreeError(error)
            }
        }
        guard case .text(let json, let range) = try before.value(at: target.encoded.span.bytes),
            let number = json.number(in: range)
        else { return DecimalSum() }
        return DecimalSum(number)
    }

    private func difference(
        _ change: Change, _ definition: CounterDefinition, where isCounted: ([UInt8]) -> Bool
    ) throws(RuleTreeError) -> DecimalSum {
        var difference = DecimalSum()
        for child in change.children where isCounted(child) {
            if let amount = try definition.amount(ofChildAt: child, in: after) { difference.add(amount) }
            if let amount = try definition.amount(ofChildAt: child, in: before) { difference.subtract(amount) }
        }
        return difference
    }
}
