import HearthJSONTree

/// A place with queries that a commit concerns, and the needed data of the children that it changes.
final class ConcernedPlace {
    struct Child {
        let segment: [UInt8]
        /// The commit's changes at it and below.
        var assignments: [Assignment]
    }

    let path: Path
    let queries: [LiveQuery]
    /// The write is at the place or above it, or its effect on the children is no longer known.
    var isReplaced = false
    private(set) var children: [Child] = []
    private var indices: [[UInt8]: Int] = [:]
    /// Where the children are before and after the commit, in each order that a query has.
    private var changes: [QueryIndex: Changes] = [:]
    private var isLocated = false
    /// The queries' selections of these children, or as a whole, before the commit; for queries whose listeners want
    /// events. Those that are too large or could not be read are missing.
    var valuesBefore: [ObjectIdentifier: CanonicalJSON] = [:]
    /// The data read after the commit.
    var reads: SharedReads

    private struct Changes {
        var list: [ChildChange]
        /// Indices of `list`, each by the places before and after the commit, in their order.
        var byPlace: [(place: IndexPlace, index: Int)] = []
    }

    init(path: Path, queries: [LiveQuery]) {
        self.path = path
        self.queries = queries
        reads = SharedReads(path: path)
    }

    func add(_ assignment: Assignment, to segment: [UInt8]) {
        if let index = indices[segment] {
            children[index].assignments.append(assignment)
        } else {
            indices[segment] = children.count
            children.append(Child(segment: segment, assignments: [assignment]))
        }
    }

    func assignments(of child: IndexPlace) -> [Assignment] {
        indices[child.segment].map { children[$0].assignments } ?? []
    }

    /// Notes where the children are before the commit.
    func locateBefore<Failure>(
        _ locate: ([UInt8], QueryIndex) throws(Failure) -> IndexPlace?
    ) throws(Failure) {
        var last: QueryIndex?
        for live in queries where live.query.index != last {
            let index = live.query.index
            last = index
            if changes[index] != nil { continue }
            var list: [ChildChange] = []
            for child in children { list.append(ChildChange(before: try locate(child.segment, index), after: nil)) }
            changes[index] = Changes(list: list)
        }
    }

    /// Notes where they are after it, once.
    func locateAfter<Failure>(_ locate: ([UInt8], QueryIndex) throws(Failure) -> IndexPlace?) throws(Failure) {
        if isLocated { return }
        for index in Array(changes.keys) {
            guard var known = changes[index] else { continue }
            for (number, child) in children.enumerated() {
                let after = try locate(child.segment, index)
                known.list[number].after = after
                for place in Set([known.list[number].before, after].compactMap { $0 }) {
                    known.byPlace.append((place, number))
                }
            }
            known.byPlace.sort { $0.place < $1.place }
            changes[index] = known
        }
        isLocated = true
    }

    /// The commit's changes of the children that are or were in a query's interval. O(log children + found).
    func changes(in query: Query) -> [ChildChange] {
        guard let known = changes[query.index] else { return [] }
        let start = known.byPlace.partitioningIndex { !$0.place.bytes.precedesBytewise(query.lower) }
        var found: [Int] = []
        for (place, index) in known.byPlace[start...] {
            guard place.bytes.precedesBytewise(query.upper) else { break }
            found.append(index)
        }
        if found.count > 1 { found = Set(found).sorted() }
        return found.map { known.list[$0] }
    }
}

/// A query that a commit concerns.
struct ConcernedQuery {
    let live: LiveQuery
    let place: ConcernedPlace
    /// The commit's changes of children in its interval; empty if the place is replaced.
    let changes: [ChildChange]
    /// The selection is looked for anew.
    let isReplaced: Bool

    var valueBefore: CanonicalJSON { place.valuesBefore[ObjectIdentifier(live)] ?? .null }
}
