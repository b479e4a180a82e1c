import HearthJSONTree

/// What queries at one place read of the tree in one state, kept for the other queries there: each child is read once,
/// each order is gone through once, and queries that select the same children share one value.
final class SharedReads {
    /// The maximum size of shared data in bytes. Above that, all of it is released.
    private static let keptBytesMax = 16 << 20

    let path: Path
    /// What reading took since the last ``takeCost()``, in bytes: those that were copied, and as many as would have
    /// taken the same time.
    private(set) var cost = 0
    private var keptBytes = 0
    /// The number of children, once it is known.
    private(set) var childCount: Int?
    private var whole: CanonicalJSON?
    private var children: [[UInt8]: CanonicalJSON] = [:]
    private var orders: [Order: (places: [IndexPlace], isComplete: Bool)] = [:]
    private var values: [Selection: CanonicalJSON] = [:]
    private var windows: [Selection: QueryWindow] = [:]

    /// Children in an interval of an index, from one side.
    struct Order: Hashable {
        let index: QueryIndex
        let lower: [UInt8]
        let upper: [UInt8]
        let side: QueryLimit.Side

        init(_ query: Query) {
            index = query.index
            lower = query.lower
            upper = query.upper
            side = query.limit?.side ?? .first
            hasAllChildren = query.isUnbounded && !query.hidesExpired && query.conditions == nil
        }

        /// Every child has a place in it. An index may give only those that conditions select.
        fileprivate let hasAllChildren: Bool
    }

    /// Children that follow one another in an index: queries select no others.
    struct Selection: Hashable {
        let index: QueryIndex
        let first: IndexPlace
        let last: IndexPlace
    }

    init(path: Path) { self.path = path }

    /// What a place costs that is gone through, in bytes.
    static let placeCost = 256

    func takeCost() -> Int {
        defer { cost = 0 }
        return cost
    }

    private func keep(_ bytes: Int) {
        keptBytes += bytes
        guard keptBytes > Self.keptBytesMax else { return }
        keptBytes = 0
        whole = nil
        children = [:]
        orders = [:]
        values = [:]
        windows = [:]
    }

    /// The value of a child, read by `read` if it is not known.
    func child(
        _ segment: [UInt8], _ read: (Path) throws(TreeRows.ReadError) -> CanonicalJSON
    ) throws(TreeRows.ReadError) -> CanonicalJSON {
        if let known = children[segment] { return known }
        let value = try read(Path(encoded: path.encoded + segment))
        cost += value.bytes.count + Self.placeCost
        keep(value.bytes.count + 128)
        children[segment] = value
        return value
    }

    /// All children.
    func everything<Failure>(_ read: () throws(Failure) -> CanonicalJSON) throws(Failure) -> CanonicalJSON {
        if let whole { return whole }
        let value = try read()
        cost += value.bytes.count
        keep(value.bytes.count)
        whole = value
        return value
    }

    /// The first places of an order: `count` of them, all if it is nil. `read` may give more, and gives fewer only if
    /// there are no more.
    func places<Failure>(
        _ order: Order, count: Int?, _ read: (_ count: Int?) throws(Failure) -> [IndexPlace]
    ) throws(Failure) -> ArraySlice<IndexPlace> {
        if let known = orders[order], known.isComplete || count.map({ $0 <= known.places.count }) ?? false {
            return known.places.prefix(count ?? .max)
        }
        // A caller that asks for some more each time soon has all of them.
        let asked = count.map { max($0, 2 * (orders[order]?.places.count ?? 0)) }
        let places = try read(asked)
        cost += places.count * Self.placeCost
        keep(places.count * 64)
        let isComplete = asked.map { places.count < $0 } ?? true
        if isComplete, order.hasAllChildren { childCount = places.count }
        orders[order] = (places, isComplete)
        return places.prefix(count ?? .max)
    }

    /// The value of some children, made by `make` if it is not known.
    func value<Failure>(
        of selection: Selection, _ make: () throws(Failure) -> CanonicalJSON
    ) throws(Failure) -> CanonicalJSON {
        if let known = values[selection] { return known }
        let value = try make()
        cost += value.bytes.count
        keep(value.bytes.count)
        values[selection] = value
        return value
    }

    /// Makes these, in the order of the index, the members of a window.
    func fill(_ window: inout QueryWindow, with places: some Collection<IndexPlace>, _ selection: Selection?) {
        if let selection, let same = windows[selection] { return window.fill(like: same) }
        window.fill(places)
        cost += places.count * 16
        guard let selection else { return }
        keep(places.count * 8)
        windows[selection] = window
    }
}
