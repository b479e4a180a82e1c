import HearthStorageErrors

/// What a commit has yet to tell: first it is found out which listeners may not be told any more, then those of whole
/// values are told, then those of queries, in the order in which these began. It is done in steps, of which each is
/// part of a turn; until the last one, the database works off no other request.
struct Telling {
    private var judged: ArraySlice<ReadDependencies.Listener>
    /// The change that listeners of whole values are told of; nil once that has begun.
    private var change: Change?
    private var fanOut: FanOut?
    private let queries: [(live: LiveQuery, place: ConcernedPlace)]
    private var next = 0
    /// The commit sets one place.
    let isSet: Bool
    /// The position after the commit.
    let position: Position
    /// What telling the listeners of queries has cost so far, in bytes (``SharedReads/cost``).
    var cost = 0
    /// What the request has to say after it.
    var rest: [Output] = []
    /// Outputs of the turn that came before `rest`.
    var outputCount = 0
    /// Memory was built again in between: windows match the tree, but the listeners were not told.
    private(set) var isInterrupted = false

    /// - parameter judged: listeners that were allowed because of data that the commit has changed.
    /// - parameter places: with queries that the commit concerns.
    init(
        _ change: Change, judging judged: [ReadDependencies.Listener], _ places: [ConcernedPlace], at position: Position
    ) {
        self.judged = judged[...]
        self.change = change
        isSet = change.isSet
        self.position = position
        var queries: [(live: LiveQuery, place: ConcernedPlace)] = []
        for place in places { queries += place.queries.map { ($0, place) } }
        if places.count > 1 { queries.sort { $0.live.serial < $1.live.serial } }
        self.queries = queries
    }

    /// The number of the commit.
    var sequence: UInt64 { position.sequence }

    var isDone: Bool { judged.isEmpty && change == nil && fanOut == nil && next == queries.count }

    /// The next listener that may have to end.
    mutating func takeJudged() -> ReadDependencies.Listener? { judged.popFirst() }

    /// The next listeners of whole values, of those that are in the trie when the first are taken: the end of a judged
    /// one may have moved others of its connection.
    mutating func takePart(of trie: ListenerTrie) -> FanOut.Step? {
        if let change {
            fanOut = trie.fanOut(of: change)
            self.change = nil
        }
        let step = fanOut?.next()
        if step == nil { fanOut = nil }
        return step
    }

    /// The next query whose place the commit concerns; it may not be concerned itself.
    var nextQuery: (live: LiveQuery, place: ConcernedPlace)? { next < queries.count ? queries[next] : nil }

    mutating func passQuery() { next += 1 }

    /// The other listeners of queries receive the present value, not the change.
    mutating func interrupt() {
        isInterrupted = true
        for (_, place) in queries[next...] { place.reads = SharedReads(path: place.path) }
    }
}
