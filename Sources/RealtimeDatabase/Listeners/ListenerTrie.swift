import HearthJSONTree

/// Who listens where: a trie of path segments with the group of each path that has listeners.
///
/// A write at `P` concerns the groups on the way to `P`, at `P`, and below it. Owned by the database thread.
struct ListenerTrie {
    final class Place: SegmentKeyed {
        let segment: [UInt8]
        /// Safe because a parent owns its children: its table holds them.
        unowned(unsafe) let parent: Place?
        var children = SegmentTable<Place>()
        var changes = PlainListeners()
        var positions = PlainListeners()
        var streams = PlainListeners()
        var numberedStreams = PlainListeners()
        /// Queries that somebody listens to.
        var queries: [Query: LiveQuery] = [:]

        init(segment: [UInt8], parent: Place?) {
            self.segment = segment
            self.parent = parent
        }

        var isEmpty: Bool { !hasPlain && !hasStreams && queries.isEmpty && children.isEmpty }

        /// Somebody is told of changes by messages.
        var hasPlain: Bool { changes.group != nil || positions.group != nil }

        var hasStreams: Bool { streams.group != nil || numberedStreams.group != nil }

        subscript(audience: Audience) -> PlainListeners {
            get {
                switch audience {
                case .changes: changes
                case .positions: positions
                case .streams: streams
                case .numberedStreams: numberedStreams
                }
            }
            set {
                switch audience {
                case .changes: changes = newValue
                case .positions: positions = newValue
                case .streams: streams = newValue
                case .numberedStreams: numberedStreams = newValue
                }
            }
        }
    }

    /// How listeners of a whole value are told of the same changes; each has a group of its own.
    enum Audience {
        /// By messages.
        case changes
        /// By messages that say the position, too.
        case positions
        /// By the events of an HTTP answer.
        case streams
        /// By events whose ids are positions.
        case numberedStreams
    }

    /// A change, or its part, and the groups that are told of it.
    struct Delivery {
        var change: Change
        var plain: [GroupAddress] = []
        var positioned: [GroupAddress] = []

        mutating func add(_ place: Place) {
            if let address = place.changes.address { plain.append(address) }
            if let address = place.positions.address { positioned.append(address) }
        }
    }

    /// The listeners of a path that are told of every change at, above and below it.
    struct PlainListeners {
        /// Nil if empty.
        var group: GroupID?
        var members = LoopMembers()

        var address: GroupAddress? { group.map { GroupAddress(group: $0, loops: members.loops) } }
    }

    let root = Place(segment: [], parent: nil)
    private let firstGroup: UInt64
    private var groupsMade: UInt64 = 0
    private(set) var queriesCount = 0
    private var queriesMade: UInt64 = 0

    /// `database` keeps the group numbers of several databases apart.
    init(database: UInt32) { firstGroup = UInt64(database) << 32 }

    /// There are no listeners.
    var isEmpty: Bool { root.isEmpty }

    /// Adds a member to the group that a path has for an audience. O(depth).
    mutating func join(_ path: Path, _ audience: Audience = .changes, loop: Int) -> GroupID {
        let place = makePlace(at: path)
        place[audience].members.add(loop)
        if let group = place[audience].group { return group }
        let group = makeGroup()
        place[audience].group = group
        return group
    }

    /// The group of a path for an audience; nil if it has no such listener.
    func group(of path: Path, _ audience: Audience) -> GroupID? { place(at: path)?[audience].group }

    mutating func makeGroup() -> GroupID {
        groupsMade += 1
        return GroupID(raw: firstGroup | groupsMade)
    }

    private func makePlace(at path: Path) -> Place {
        var place = root
        for range in path.segments {
            let segment = Array(path.encoded[range])
            if let next = segment.withUnsafeBytes({ place.children[$0] }) {
                place = next
            } else {
                let next = Place(segment: segment, parent: place)
                place.children.insert(next)
                place = next
            }
        }
        return place
    }

    /// Removes a member, and places without listeners at or below them. Nil if there was no such listener.
    mutating func leave(_ path: Path, _ audience: Audience = .changes, loop: Int) -> GroupID? {
        guard let place = place(at: path), let group = place[audience].group else { return nil }
        place[audience].members.remove(loop)
        if place[audience].members.isEmpty {
            place[audience].group = nil
            prune(place)
        }
        return group
    }

    private func prune(_ place: Place) {
        var place = place
        while place.isEmpty, let parent = place.parent {
            parent.children.remove(place.segment)
            place = parent
        }
    }

    private func place(at path: Path) -> Place? {
        var place = root
        for range in path.segments {
            let next = path.encoded.withUnsafeBytes { place.children[UnsafeRawBufferPointer(rebasing: $0[range])] }
            guard let next else { return nil }
            place = next
        }
        return place
    }

    // MARK: Queries

    func query(_ query: Query, at path: Path) -> LiveQuery? { place(at: path)?.queries[query] }

    /// All queries at a place that somebody listens to.
    func queries(at path: Path) -> [LiveQuery] {
        if queriesCount == 0 { return [] }
        return place(at: path).map { Array($0.queries.values) } ?? []
    }

    mutating func add(_ live: LiveQuery) {
        let place = makePlace(at: live.path)
        queriesMade += 1
        live.serial = queriesMade
        if place.queries.updateValue(live, forKey: live.query) == nil { queriesCount += 1 }
    }

    /// A query goes on as another one that selects the same, to which nobody listens.
    func rename(_ live: LiveQuery, _ query: Query) {
        guard let place = place(at: live.path), place.queries[live.query] === live, place.queries[query] == nil else {
            return
        }
        place.queries[live.query] = nil
        live.rename(query)
        place.queries[query] = live
    }

    mutating func remove(_ live: LiveQuery) {
        guard let place = place(at: live.path), place.queries.removeValue(forKey: live.query) != nil else { return }
        queriesCount -= 1
        prune(place)
    }

    /// All queries that somebody listens to.
    var queries: [LiveQuery] {
        var found: [LiveQuery] = []
        Self.forEachPlace(at: root) { found += $0.queries.values }
        found.sort { $0.serial < $1.serial }
        return found
    }

    /// The places with queries that a write at a path concerns: of those above it a child changes, whose segment is
    /// `child`, a range of the path; those at it or below change as a whole.
    func forEachPlaceOfQueries(concernedBy path: Path, _ body: (Place, _ child: Range<Int>?) -> Void) {
        var place = root
        for range in path.segments {
            if !place.queries.isEmpty { body(place, range) }
            let next = path.encoded.withUnsafeBytes { place.children[UnsafeRawBufferPointer(rebasing: $0[range])] }
            guard let next else { return }
            place = next
        }
        Self.forEachPlace(at: place) { if !$0.queries.isEmpty { body($0, nil) } }
    }

    private static func forEachPlace(at place: Place, _ body: (Place) -> Void) {
        body(place)
        place.children.forEach { forEachPlace(at: $0, body) }
    }

    // MARK: Fan-out

    /// What the groups that are told by messages get to see of a change, each no more than lies at or below its path.
}
