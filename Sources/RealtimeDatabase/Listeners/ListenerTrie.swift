import JSONTree

/// Who listens where: a trie of path segments with the group of each path that has listeners.
///
/// A write at `P` concerns the groups on the way to `P`, at `P`, and below it. Owned by the database thread.
struct ListenerTrie {
    final class Place: SegmentKeyed {
        let segment: [UInt8]
        unowned(unsafe) let parent: Place?
        var children = SegmentTable<Place>()
        var plain = PlainListeners()
        /// Event streams of the whole value, which are told of the same changes in another form.
        var streams = PlainListeners()
        /// Queries that somebody listens to.
        var queries: [Query: LiveQuery] = [:]

        init(segment: [UInt8], parent: Place?) {
            self.segment = segment
            self.parent = parent
        }

        var isEmpty: Bool { plain.group == nil && streams.group == nil && queries.isEmpty && children.isEmpty }

        /// The listeners on connections of a kind.
        subscript(kind: ConnectionID.Kind) -> PlainListeners {
            get { kind == .http ? streams : plain }
            set { if kind == .http { streams = newValue } else { plain = newValue } }
        }
    }

    /// The listeners of a path that are told of every change at, above and below it.
    struct PlainListeners {
        /// Nil while there are none.
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

    /// Nobody listens anywhere.
    var isEmpty: Bool { root.isEmpty }

    /// Adds a member to the group that a path has for connections of a kind. O(depth).
    mutating func join(_ path: Path, _ kind: ConnectionID.Kind = .realtime, loop: Int) -> GroupID {
        let place = makePlace(at: path)
        place[kind].members.add(loop)
        if kind == .http { streamsCount += 1 }
        if let group = place[kind].group { return group }
        let group = makeGroup()
        place[kind].group = group
        return group
    }

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

    /// Takes a member out; places without listeners at or below them go. Nil when nobody listened there.
    mutating func leave(_ path: Path, _ kind: ConnectionID.Kind = .realtime, loop: Int) -> GroupID? {
        guard let place = place(at: path), let group = place[kind].group else { return nil }
        place[kind].members.remove(loop)
        if kind == .http { streamsCount -= 1 }
        if place[kind].members.isEmpty {
            place[kind].group = nil
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

    mutating func add(_ live: LiveQuery) {
        let place = makePlace(at: live.path)
        queriesMade += 1
        live.serial = queriesMade
        if place.queries.updateValue(live, forKey: live.query) == nil { queriesCount += 1 }
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

    /// The queries that a write at a path concerns: of those above it a child changes, whose segment is `child`, a range of the path; those
    /// at it or below change as a whole.
    func forEachQuery(concernedBy path: Path, _ body: (_ live: LiveQuery, _ child: Range<Int>?) -> Void) {
        var place = root
        for range in path.segments {
            for live in place.queries.values { body(live, range) }
            let next = path.encoded.withUnsafeBytes { place.children[UnsafeRawBufferPointer(rebasing: $0[range])] }
            guard let next else { return }
            place = next
        }
        Self.forEachPlace(at: place) { for live in $0.queries.values { body(live, nil) } }
    }

    private static func forEachPlace(at place: Place, _ body: (Place) -> Void) {
        body(place)
        place.children.forEach { forEachPlace(at: $0, body) }
    }

    // MARK: Fan-out

    /// What each group of plain listeners gets to see of a change, never more than lies at or below its path. One entry per form of the
    /// change.
    func deliveries(of change: Change) -> [(change: Change, to: [GroupAddress])] {
        if isEmpty { return [] }
        // Groups at or above the base see the change as it is.
        var whole: [GroupAddress] = []
        let base = change.base
        let place = forEachPlace(onTheWayTo: base) { place, _ in
            if let address = place.plain.address { whole.append(address) }
        }
        var deliveries: [(change: Change, to: [GroupAddress])] = whole.isEmpty ? [] : [(change, whole)]
        if let place, !place.children.isEmpty {
            for (change, _, address) in parts(of: change, below: place, at: base, for: .realtime) {
                deliveries.append((change, [address]))
            }
        }
        return deliveries
    }

    /// The same for event streams: each group is told of the change in relation to its path.
    func streamPushes(of change: Change) -> [(push: QueryPush, to: GroupAddress)] {
        if streamsCount == 0 { return [] }
        var pushes: [(push: QueryPush, to: GroupAddress)] = []
        func add(_ change: Change, _ path: Path, _ address: GroupAddress) {
            pushes.append((QueryPush(form: .eventStream, path: path, content: .change(change)), address))
        }
        let base = change.base
        let place = forEachPlace(onTheWayTo: base) { place, byteCount in
            if let address = place.streams.address { add(change, base.prefix(bytes: byteCount), address) }
        }
        if let place, !place.children.isEmpty {
            for (change, path, address) in parts(of: change, below: place, at: base, for: .http) {
                add(change, path, address)
            }
        }
        return pushes
    }

    /// Visits the places from the root to a path, each with the bytes of the path that lead to it. Answers the last one if it is that of the
    /// path.
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

    /// What groups strictly below the base of a change see of it. O(groups + text of the values).
    private func parts(
        of change: Change, below place: Place, at base: Path, for kind: ConnectionID.Kind
    ) -> [(Change, Path, GroupAddress)] {
        var found: [(place: Place, path: Path, assignments: [Assignment])] = []
        var indices: [ObjectIdentifier: Int] = [:]
        func add(_ assignment: Assignment, to place: Place, at path: Path) {
            guard place[kind].group != nil else { return }
            if let index = indices[ObjectIdentifier(place)] {
                found[index].assignments.append(assignment)
            } else {
                indices[ObjectIdentifier(place)] = found.count
                found.append((place, path, [assignment]))
            }
        }
        for assignment in change.assignments {
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
                    guard place[kind].group != nil else { return }
                    let part = range.map { value.part($0) } ?? .null
                    add(Assignment(target: WriteTarget(path: path), value: part), to: place, at: path)
                }
            }
        }
        return found.compactMap { place, path, assignments in
            place[kind].address.map {
                (assignments.count == 1 ? .set(assignments[0]) : .merge(base: path, assignments), path, $0)
            }
        }
    }

    /// Visits the places below one in tree order, with the text of what lies there in a value: `range` is that of the place itself, nil
    /// for nothing.
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
