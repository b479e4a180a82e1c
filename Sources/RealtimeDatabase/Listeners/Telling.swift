/// What a commit has yet to tell the listeners of queries, in the order in which these began. It is done in steps, of
/// which each is part of a turn; until the last one, the database works off no other request.
struct Telling {
    private let queries: [ConcernedQuery]
    private var next = 0
    /// The commit sets one place.
    let isSet: Bool
    /// The number of the commit.
    let sequence: UInt64
    /// What telling has cost so far, in bytes (``SharedReads/cost``).
    var cost = 0
    /// What the request has to say after it.
    var rest: [Output] = []
    /// Outputs of the turn that came before `rest`.
    var outputCount = 0
    /// Memory was built again in between: windows match the tree, but the listeners were not told.
    private(set) var isInterrupted = false

    init(_ queries: [ConcernedQuery], isSet: Bool, sequence: UInt64) {
        self.queries = queries
        self.isSet = isSet
        self.sequence = sequence
    }

    var isDone: Bool { next == queries.count }

    mutating func takeNext() -> ConcernedQuery? {
        guard next < queries.count else { return nil }
        defer { next += 1 }
        return queries[next]
    }

    /// The query that was taken last was not told.
    mutating func giveBack() { next -= 1 }

    /// All that are left.
    mutating func takeRest() -> [LiveQuery] {
        defer { next = queries.count }
        return queries[next...].map(\.live)
    }

    /// The other listeners receive the present value, not the change.
    mutating func interrupt() {
        isInterrupted = true
        for query in queries[next...] {
            query.place.isReplaced = true
            query.place.reads = SharedReads(path: query.place.path)
        }
    }
}
