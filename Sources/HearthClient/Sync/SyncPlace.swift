import HearthJSONTree
import HearthClientSession

/// A place of the sync tree that is observed, or that lies above an observed place.
final class SyncPlace {
    let path: Path
    /// By encoded segment.
    private(set) var children: [[UInt8]: SyncPlace] = [:]
    var views: [QueryView] = []
    /// The listen to the whole place, if no listen above covers it.
    var listen: ServerListen?
    /// The whole value, as received from the server. Invariant: a listen to this place or above covers it, or queries
    /// at the place have listens, and no place above or below has one.
    var server: Node? { didSet { position = [] } }
    /// The last commit that `server` includes, if the server reports one; a value that is set without it has none.
    var position: CommitPosition = []

    /// Stores the server's value, up to a commit.
    func set(_ value: Node, _ position: CommitPosition) {
        server = value
        self.position = position
    }

    init(path: Path) { self.path = path }

    /// Whether the whole place is observed.
    var wantsAll: Bool { views.contains { $0.query.selectsEverything } }

    private var isUnused: Bool { views.isEmpty && children.isEmpty && listen == nil && server == nil }

    /// In key order.
    var sortedChildren: [SyncPlace] {
        children.count < 2 ? Array(children.values) : children.values.sorted { $0.path < $1.path }
    }

    func child(_ segment: [UInt8]) -> SyncPlace? { children[segment] }

    /// The place at a path below this one, created if necessary.
    func makePlace(_ path: Path) -> SyncPlace {
        var place = self
        for range in path.segments {
            let segment = Array(path.encoded[range])
            let next = place.children[segment] ?? SyncPlace(path: Path(encoded: place.path.encoded + segment))
            place.children[segment] = next
            place = next
        }
        return place
    }

    /// The existing places from this one to a path below it.
    func way(to path: Path) -> [SyncPlace] {
        var way = [self]
        for range in path.segments {
            guard let next = way[way.count - 1].children[Array(path.encoded[range])] else { break }
            way.append(next)
        }
        return way
    }

    /// Calls `body` with this place and all below it, the deepest first, siblings in key order.
    func forEachFromBelow(_ body: (SyncPlace) -> Void) {
        for child in sortedChildren { child.forEachFromBelow(body) }
        body(self)
    }

    /// Removes the places on the way to a path that are no longer needed.
    func dropUnused(on path: Path) {
        let way = way(to: path)
        for (parent, place) in zip(way.dropLast(), way.dropFirst()).reversed() where place.isUnused {
            parent.children[Array(place.path.encoded[parent.path.encoded.count...])] = nil
        }
    }
}
