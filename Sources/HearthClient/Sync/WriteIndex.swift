import HearthJSONTree

/// Finds the writes that concern a place: a trie of the paths that they set.
///
/// Adding and removing cost the depth of the path; a lookup costs the entries at, above and below the place.
struct WriteIndex {
    /// One assignment of a write, in the order in which they happen.
    struct Entry: Comparable {
        let write: Int
        let assignment: Int
        let isPriority: Bool

        static func < (left: Entry, right: Entry) -> Bool {
            (left.write, left.assignment) < (right.write, right.assignment)
        }
    }

    private struct Place {
        /// In order. Writes end in about the order in which they began, and removing the first of a slice is O(1).
        var entries: ArraySlice<Entry> = []
        /// By encoded segment. Invariant: none is empty.
        var children: [[UInt8]: Place] = [:]

        var isEmpty: Bool { entries.isEmpty && children.isEmpty }

        mutating func add(_ entry: Entry, _ segments: ArraySlice<[UInt8]>) {
            if let segment = segments.first {
                children[segment, default: Place()].add(entry, segments.dropFirst())
            } else {
                entries.insert(entry, at: entries.partitioningIndex { $0 >= entry })
            }
        }

        mutating func remove(_ entry: Entry, _ segments: ArraySlice<[UInt8]>) {
            guard let segment = segments.first else {
                if entries.first == entry {
                    entries.removeFirst()
                    return
                }
                let index = entries.partitioningIndex { $0 >= entry }
                if index < entries.endIndex, entries[index] == entry { entries.remove(at: index) }
                return
            }
            children[segment]?.remove(entry, segments.dropFirst())
            if children[segment]?.isEmpty == true { children[segment] = nil }
        }

        /// The entries from the last whole value on, which replaces all earlier ones.
        func recent(where isIncluded: (Int) -> Bool) -> ArraySlice<Entry> {
            var start = entries.endIndex
            for index in entries.indices.reversed() where isIncluded(entries[index].write) {
                start = index
                if !entries[index].isPriority { break }
            }
            return entries[start...]
        }

        func appendAll(to entries: inout [Entry], where isIncluded: (Int) -> Bool) {
            entries += recent(where: isIncluded)
            for child in children.values { child.appendAll(to: &entries, where: isIncluded) }
        }
    }

    private var root = Place()

    mutating func add(_ entry: Entry, at path: Path) { root.add(entry, path.encodedSegments[...]) }

    mutating func remove(_ entry: Entry, at path: Path) { root.remove(entry, path.encodedSegments[...]) }

    /// The assignments at the place, above and below it, in order, without those that a later value at the same path
    /// replaces.
    ///
    /// - parameter isIncluded: whether the write of a number counts.
    func entries(concerning path: Path, where isIncluded: (Int) -> Bool) -> [Entry] {
        var entries: [Entry] = []
        if let place = walk(path, { entries += $0.recent(where: isIncluded) }) {
            for child in place.children.values { child.appendAll(to: &entries, where: isIncluded) }
        }
        entries.removeAll { !isIncluded($0.write) }
        entries.sort()
        return entries
    }

    func hasEntries(atOrAbove path: Path) -> Bool {
        var isFound = false
        _ = walk(path) { if !$0.entries.isEmpty { isFound = true } }
        return isFound
    }

    func hasEntries(concerning path: Path) -> Bool {
        var isFound = false
        let place = walk(path) { if !$0.entries.isEmpty { isFound = true } }
        return isFound || place?.isEmpty == false
    }

    /// Calls `body` with the existing places from the top to this one; answers the last if it is this one.
    private func walk(_ path: Path, _ body: (Place) -> Void) -> Place? {
        var place = root
        body(place)
        for segment in path.encodedSegments {
            guard let next = place.children[segment] else { return nil }
            place = next
            body(place)
        }
        return place
    }
}

extension Path {
    fileprivate var encodedSegments: [[UInt8]] { segments.map { Array(encoded[$0]) } }
}
