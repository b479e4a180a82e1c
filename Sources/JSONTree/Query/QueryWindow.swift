/// The children that a query selects, kept up to date commit by commit.
///
///     var window = QueryWindow(query)
///     window.fill(places)
///     let difference = try window.apply(changes, refill: store.places)
///
/// A query with a limit needs the places of its members to tell who is pushed out and who comes after them; events need
/// them to name predecessors. Without either nothing is kept: a child is a member if its place lies in the interval.
package struct QueryWindow: Sendable {
    package var query: Query
    /// The members' places, nil if they are not kept.
    private var places: SortedChunks<IndexPlace>?

    /// A window without members. `keepsOrder` is for those who ask for events or predecessors.
    package init(_ query: Query, keepsOrder: Bool = false) {
        self.query = query
        places = keepsOrder || query.limit != nil ? SortedChunks() : nil
    }

    package var keepsOrder: Bool { places != nil }

    /// Sets the members: the places of the query's interval in order, cut to the limit.
    package mutating func fill(_ sorted: some Sequence<IndexPlace>) {
        if keepsOrder { places = SortedChunks(sorted: sorted) }
    }

    /// Sets the members to those of another window, whose memory is shared until one of the two changes.
    package mutating func fill(like other: QueryWindow) {
        if keepsOrder { places = other.places }
    }

    /// Whether the child at a place, which must exist, is a member.
    package func contains(_ place: IndexPlace) -> Bool { places?.contains(place.bytes) ?? query.contains(place) }

    /// The number of members, nil if they are not kept.
    package var count: Int? { places?.count }

    /// The members in order; none if they are not kept.
    package var members: some Sequence<IndexPlace> { (places ?? SortedChunks()).elements }

    /// The member right before a place, whether or not there is one at the place itself. Nil for the first one, and if
    /// members are not kept.
    package func predecessor(of place: IndexPlace) -> IndexPlace? { places?.predecessor(of: place.bytes) }

    /// The first or the last member in a range of places; nil if there is none, or members are not kept.
    package func member(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) -> IndexPlace? {
        var walk = (places ?? SortedChunks()).walk(from: lower, below: upper, direction)
        return walk.next()
    }
}

// MARK: Changes

extension QueryWindow {
    /// Takes in the changes of the node's children by one commit; each child at most once, in any order.
    ///
    /// `refill` is asked, at most once, when members of a limited query are missing: for the places, up to a number of
    /// them, that come next in the query's interval beyond a place, as they are after the commit (changed children
    /// among them). Next means ascending after the place if the limit keeps the first, descending before it if it
    /// keeps the last. The place itself need not exist any more. If `refill` throws, the window is unchanged.
    ///
    /// O(log n) per change; a window that does not keep its members compares only.
    package mutating func apply<Failure: Error>(
        _ changes: [ChildChange],
        refill: (_ beyond: IndexPlace, _ count: Int) throws(Failure) -> [IndexPlace]
    ) throws(Failure) -> WindowDifference {
        guard keepsOrder else { return differenceOfInterval(changes) }
        let wereMembers = changes.map { change in change.before.map { contains($0) } ?? false }
        let boundary = boundary
        var leaving: [IndexPlace] = []
        var arriving: [IndexPlace] = []
        for (change, wasMember) in zip(changes, wereMembers) where !wasMember || change.before != change.after {
            if wasMember, let before = change.before { leaving.append(before) }
            if let after = change.after, query.contains(after), !isBeyond(boundary, after) { arriving.append(after) }
        }
        // Those that move beyond the boundary compete with others that only the store knows, and come back from there.
        var refilled: [IndexPlace] = []
        if let boundary, let limit = query.limit {
            let missing = limit.count - ((count ?? 0) - leaving.count + arriving.count)
            if missing > 0 { refilled = Array(try refill(boundary, missing).prefix(missing)) }
        }
        let pushedOut = replace(leaving, by: arriving + refilled)

        var difference = WindowDifference()
        for (change, wasMember) in zip(changes, wereMembers) {
            difference.note(
                before: wasMember ? change.before : nil,
                after: change.after.flatMap { contains($0) ? $0 : nil })
        }
        if !refilled.isEmpty || !pushedOut.isEmpty {
            let changed = Set(changes.compactMap(\.after))
            difference.entered += refilled.lazy.filter { !changed.contains($0) }
            difference.left += pushedOut.lazy.filter { !changed.contains($0) }
        }
        difference.sort()
        return difference
    }

    private func differenceOfInterval(_ changes: [ChildChange]) -> WindowDifference {
        var difference = WindowDifference()
        for change in changes {
            difference.note(
                before: change.before.flatMap { query.contains($0) ? $0 : nil },
                after: change.after.flatMap { query.contains($0) ? $0 : nil })
        }
        difference.sort()
        return difference
    }

    /// The member of a full window that is next to those which the limit keeps out. A window that is not full has all
    /// of the interval.
    private var boundary: IndexPlace? {
        guard let limit = query.limit, let places, places.count >= limit.count else { return nil }
        return limit.side == .first ? places.last : places.first
    }

    private func isBeyond(_ boundary: IndexPlace?, _ place: IndexPlace) -> Bool {
        guard let boundary else { return false }
        return query.limit?.side == .last ? place < boundary : boundary < place
    }

    /// Answers the members that are pushed out by the limit.
    private mutating func replace(_ leaving: [IndexPlace], by arriving: [IndexPlace]) -> [IndexPlace] {
        // Taken out of the property while it is changed, or each change would copy it.
        guard var places else { return [] }
        self.places = nil
        for place in leaving { places.remove(place.bytes) }
        for place in arriving { places.insert(place) }
        var pushedOut: [IndexPlace] = []
        if let limit = query.limit {
            while places.count > limit.count, let place = limit.side == .first ? places.last : places.first {
                places.remove(place.bytes)
                pushedOut.append(place)
            }
        }
        self.places = places
        return pushedOut
    }
}
