import HearthJSONTree

/// Where a connection listened and does not any more.
///
/// Data that was sent to such a listener may still be in transit when the client listens there again, and reach it
/// after it has reported its state, by a hash or by a position. So its reports of these places are unreliable until it
/// is sent the whole value once.
struct EndedListens {
    /// With more places, none can be relied on.
    private static let pathsMax = 64

    /// None lies inside another.
    private var paths: [Path] = []
    /// Clients count tags upwards, and may use one again.
    private var lastTag = Int64.min

    var isEmpty: Bool { paths.isEmpty && lastTag == .min }

    mutating func add(_ path: Path) {
        if paths.contains(where: { $0.contains(path) }) { return }
        remove(from: path)
        paths.append(path)
        if paths.count > Self.pathsMax { paths = [.root] }
    }

    mutating func add(_ name: ListenerForm.Name) {
        if case .tagged(let tag) = name { lastTag = max(lastTag, tag) }
    }

    /// The client is sent everything at and below a place.
    mutating func remove(from path: Path) { paths.removeAll { path.contains($0) } }

    /// Whether data may be on its way that a new listener at a place would take for its own.
    func concern(_ path: Path) -> Bool { paths.contains { $0.contains(path) || path.contains($0) } }

    func concern(_ name: ListenerForm.Name) -> Bool {
        if case .tagged(let tag) = name { tag <= lastTag } else { false }
    }
}
