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

        fileprivate var isStreams: Bool { self == .streams || self == .numberedStreams }
    }

    /// A change, or its part, and the groups that are told of it.
    struct Delivery {
        var change: Change
        var plain: [GroupAddress] = []
        var positioned: [GroupAddress] = []

        fileprivate mutating func add(_ place: Place) {
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

    private let root = Place(segment: [], parent: nil)
    /// Members of the groups of event streams.
    private var streamsCount = 0
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
        if audience.isStreams { streamsCount += 1 }
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
        if audience.isStreams { streamsCount -= 1 }
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
    /// One entry per form of the change.
    func deliveries(of change: Change) -> [Delivery] {
        if isEmpty { return [] }
        // Groups at or above the base see the change as it is.
        var whole = Delivery(change: change)
        let base = change.base
        let place = forEachPlace(onTheWayTo: base) { place, _ in whole.add(place) }
        var deliveries = whole.plain.isEmpty && whole.positioned.isEmpty ? [] : [whole]
        if let place, !place.children.isEmpty {
            for (change, _, place) in parts(of: change, below: place, at: base, where: \.hasPlain) {
                var part = Delivery(change: change)
                part.add(place)
                deliveries.append(part)
            }
        }
        return deliveries
    }

    /// The same for event streams: each group is told of the change in relation to its path, and some of the position
    /// after it.
    func streamPushes(of change: Change, at position: Position) -> [(push: QueryPush, to: GroupAddress)] {
        if streamsCount == 0 { return [] }
        var pushes: [(push: QueryPush, to: GroupAddress)] = []
        func add(_ change: Change, _ path: Path, _ place: Place) {
            let push = QueryPush(form: .eventStream, path: path, content: .change(change), position: nil)
            if let address = place.streams.address { pushes.append((push, address)) }
            if let address = place.numberedStreams.address {
                var push = push
                push.position = position
                pushes.append((push, address))
            }
        }
        let base = change.base
        let place = forEachPlace(onTheWayTo: base) { place, byteCount in
            add(change, base.prefix(bytes: byteCount), place)
        }
        if let place, !place.children.isEmpty {
            for (change, path, place) in parts(of: change, below: place, at: base, where: \.hasStreams) {
                add(change, path, place)
            }
        }
        return pushes
    }

    /// Visits the places from the root to a path, each with the bytes of the path that lead to it. Answers the last one
    /// if it is that of the path.
    private func forEachPlace(onTheWayTo path: Path, _ body: (Place, _ byteCount: Int) -> Void) -> Place? {
        var place = root
        body(place, 0)
        for range in path.segments {
            let next = path.encoded.withUnsafeBytes { place.children[UnsafeRawBufferPointer(rebasing: $0[range])] }
            guard let next else { return nil }
            place = next
            body(place, range.upperBound)
        }
        return place
    }

    /// What the places strictly below the base of a change see of it that are wanted. O(places + text of the values).
    private func parts(
        of change: Change, below place: Place, at base: Path, where isWanted: (Place) -> Bool
    ) -> [(Change, Path, Place)] {
        var found: [(place: Place, path: Path, assignments: [Assignment])] = []
        var indices: [ObjectIdentifier: Int] = [:]
        func add(_ assignment: Assignment, to place: Place, at path: Path) {
            guard isWanted(place) else { return }
            if let index = indices[ObjectIdentifier(place)] {
                found[index].assignments.append(assignment)
            } else {
                indices[ObjectIdentifier(place)] = found.count
                found.append((place, path, [assignment]))
            }
        }
        if case .setChildren(of: let base, let text) = change {
            var isWritten = false
            Self.forEachPlace(below: place, at: base, of: text, text.range) { place, path, range in
                if path.depth == base.depth + 1 { isWritten = range != nil }
                guard isWritten, isWanted(place) else { return }
                let part = range.map { text.part($0) } ?? .null
                add(Assignment(target: WriteTarget(path: path), value: part), to: place, at: path)
            }
        }
        for assignment in change.assignmentsOneByOne {
            var next: Place? = place
            let target = assignment.target.path
            // On the way to the target: the assignment as it is.
            for range in target.dropFirst(bytes: base.encoded.count).segments {
                let absolute = (base.encoded.count + range.lowerBound)..<(base.encoded.count + range.upperBound)
                next = target.encoded.withUnsafeBytes {
                    next?.children[UnsafeRawBufferPointer(rebasing: $0[absolute])]
                }
                guard let next else { break }
                add(assignment, to: next, at: target.prefix(bytes: absolute.upperBound))
            }
            // Below it: the part of the value that lies there.
            if let next, !assignment.target.isPriority {
                let value = assignment.value
                Self.forEachPlace(below: next, at: target, of: value, value.range) { place, path, range in
                    guard isWanted(place) else { return }
                    let part = range.map { value.part($0) } ?? .null
                    add(Assignment(target: WriteTarget(path: path), value: part), to: place, at: path)
                }
            }
        }
        return found.map { place, path, assignments in
            (assignments.count == 1 ? .set(assignments[0]) : .merge(base: path, assignments), path, place)
        }
    }

    /// Visits the places below one in tree order, with the text of what lies there in a value: `range` is that of the
    /// place itself, nil for nothing.
    private static func forEachPlace(
        below place: Place, at path: Path, of value: CanonicalJSON, _ range: Range<Int>?,
        _ body: (Place, Path, Range<Int>?) -> Void
    ) {
        if place.children.isEmpty { return }
        var members = range.map { value.children(in: $0) }
        var segment: [UInt8] = []
        func nextMember() -> Range<Int>? {
            guard let member = members?.next() else { return nil }
            segment.removeAll(keepingCapacity: true)
            member.appendSegment(to: &segment)
            return member.value
        }
        var member = nextMember()
        for child in place.children.sorted() {
            while member != nil, segment.precedesBytewise(child.segment) { member = nextMember() }
            let part = segment == child.segment ? member : nil
            let childPath = Path(encoded: path.encoded + child.segment)
            body(child, childPath, part)
            forEachPlace(below: child, at: childPath, of: value, part, body)
        }
    }
}
