import HearthJSONTree

/// What the listeners of whole values get to see of a change, in steps: each of them no more than lies at or below its
/// path. Listeners may leave between steps. One that comes, or is moved to another group, may miss it.
struct FanOut {
    typealias Place = ListenerTrie.Place

    /// Places whose listeners see the same of the change.
    struct Step {
        var change: Change
        var places: [(path: Path, place: Place)]
        /// What it took to find them, and to cut out their part, in bytes that could be copied meanwhile.
        var cost: Int

        /// For the groups that are told by messages; nil if there are none.
        var delivery: ListenerTrie.Delivery? {
            var delivery = ListenerTrie.Delivery(change: change)
            for (_, place) in places { delivery.add(place) }
            return delivery.plain.isEmpty && delivery.positioned.isEmpty ? nil : delivery
        }

        /// For event streams: each is told of the change in relation to its path, and some of the position after it.
        func streamPushes(at position: Position) -> [(push: QueryPush, to: GroupAddress)] {
            var pushes: [(push: QueryPush, to: GroupAddress)] = []
            for (path, place) in places where place.hasStreams {
                var push = QueryPush(form: .eventStream, path: path, content: .change(change), position: nil)
                if let address = place.streams.address { pushes.append((push, address)) }
                push.position = position
                if let address = place.numberedStreams.address { pushes.append((push, address)) }
            }
            return pushes
        }
    }

    /// The children of a place, beside those of the value that comes there.
    private struct Level {
        let path: Path
        let value: CanonicalJSON
        var places: ArraySlice<Place>
        var members: CanonicalJSON.Children?
        /// Of the member that comes next.
        var segment: [UInt8] = []
        var range: Range<Int>?
        /// Those that the value does not have stay as they are.
        let isOfChildren: Bool

        init(
            below place: Place, at path: Path, _ value: CanonicalJSON, _ range: Range<Int>?, isOfChildren: Bool = false
        ) {
            self.path = path
            self.value = value
            self.isOfChildren = isOfChildren
            places = place.children.sorted()[...]
            members = range.map { value.children(in: $0) }
            _ = nextMember()
        }

        /// Goes on to the next member, and answers the bytes of the one before.
        mutating func nextMember() -> Int {
            let passed = range?.count ?? 0
            segment.removeAll(keepingCapacity: true)
            let member = members?.next()
            member?.appendSegment(to: &segment)
            range = member?.value
            return passed
        }
    }

    private static let placeCost = 256
    private static let listenersCost = 1024
    private static let memberCost = 64
    private static let passedAtOnce = 64 << 10

    private var whole: Step?
    /// Parts that are known.
    private var gathered: ArraySlice<Step>
    /// Places below which a value comes, and that value.
    private var values: ArraySlice<(place: Place, path: Path, value: CanonicalJSON)> = []
    private var levels: [Level] = []

    init(_ change: Change, from root: Place) {
        let base = change.base
        // Groups at or above the base see the change as it is.
        var places: [(path: Path, place: Place)] = []
        let place = Self.walk(from: root, to: base) { place, byteCount in
            if place.hasPlain || place.hasStreams { places.append((base.prefix(bytes: byteCount), place)) }
        }
        whole = places.isEmpty ? nil : Step(change: change, places: places, cost: places.count * Self.placeCost)
        gathered = []
        guard let place, !place.children.isEmpty else { return }
        switch change {
        case .set(let assignment) where !assignment.target.isPriority: values = [(place, base, assignment.value)]
        case .set: break
        case .merge(_, let assignments): gather(assignments, below: place, at: base)
        case .setChildren(of: _, let text):
            levels = [Level(below: place, at: base, text, text.range, isOfChildren: true)]
        }
    }

    /// Visits the places from the root to a path, each with the bytes of the path that lead to it. Answers the last one
    /// if it is that of the path.
    private static func walk(from root: Place, to path: Path, _ body: (Place, _ byteCount: Int) -> Void) -> Place? {
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

    /// Gathers the assignments for places between the base and their targets, which see them as they are.
    private mutating func gather(_ assignments: [Assignment], below place: Place, at base: Path) {
        var steps: [(place: Place, path: Path, assignments: [Assignment])] = []
        var indices: [ObjectIdentifier: Int] = [:]
        for assignment in assignments {
            var next: Place? = place
            let target = assignment.target.path
            for range in target.dropFirst(bytes: base.encoded.count).segments {
                let absolute = (base.encoded.count + range.lowerBound)..<(base.encoded.count + range.upperBound)
                next = target.encoded.withUnsafeBytes {
                    next?.children[UnsafeRawBufferPointer(rebasing: $0[absolute])]
                }
                guard let next else { break }
                guard next.hasPlain || next.hasStreams else { continue }
                if let index = indices[ObjectIdentifier(next)] {
                    steps[index].assignments.append(assignment)
                } else {
                    indices[ObjectIdentifier(next)] = steps.count
                    steps.append((next, target.prefix(bytes: absolute.upperBound), [assignment]))
                }
            }
            if let next, !next.children.isEmpty, !assignment.target.isPriority {
                values.append((next, target, assignment.value))
            }
        }
        gathered =
            steps.map { place, path, assignments in
                Step(
                    change: assignments.count == 1 ? .set(assignments[0]) : .merge(base: path, assignments),
                    places: [(path, place)], cost: Self.listenersCost + assignments.count * Self.memberCost)
            }[...]
    }

    /// The next places; none in a step that has only looked for them. Nil at the end.
    mutating func next() -> Step? {
        if let step = whole {
            whole = nil
            return step
        }
        if let step = gathered.popFirst() { return step }
        if levels.isEmpty, let (place, path, value) = values.popFirst() {
            levels.append(Level(below: place, at: path, value, value.range))
        }
        guard !levels.isEmpty else { return nil }
        return nextBelow()
    }

    private mutating func nextBelow() -> Step {
        let last = levels.count - 1
        var step = Step(change: .merge(base: .root, []), places: [], cost: Self.placeCost)
        guard let place = levels[last].places.first else {
            levels.removeLast()
            return step
        }
        while levels[last].range != nil, levels[last].segment.precedesBytewise(place.segment) {
            step.cost += levels[last].nextMember() / 4 + Self.memberCost
            if step.cost > Self.passedAtOnce { return step }
        }
        levels[last].places.removeFirst()
        let part = levels[last].segment == place.segment ? levels[last].range : nil
        if part == nil, levels[last].isOfChildren { return step }
        let (path, value) = (Path(encoded: levels[last].path.encoded + place.segment), levels[last].value)
        if place.hasPlain || place.hasStreams {
            let seen = part.map { value.part($0) } ?? .null
            step.change = .set(Assignment(target: WriteTarget(path: path), value: seen))
            step.places = [(path, place)]
            step.cost += Self.listenersCost + seen.bytes.count
        }
        if !place.children.isEmpty { levels.append(Level(below: place, at: path, value, part)) }
        return step
    }
}

extension ListenerTrie {
    /// One entry per form of the change.
    func deliveries(of change: Change) -> [Delivery] {
        var fanOut = fanOut(of: change)
        var deliveries: [Delivery] = []
        while let step = fanOut.next() {
            if let delivery = step.delivery { deliveries.append(delivery) }
        }
        return deliveries
    }

    /// The same step by step, and for event streams as well.
    func fanOut(of change: Change) -> FanOut { FanOut(change, from: root) }
}
