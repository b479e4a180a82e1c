package import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTreeText

/// The children of collections that have expired at a time and are not removed yet: readers do not see them
/// (docs/using/additions.md 5).
package struct ExpiredChildren: Sendable {
    let definitions: [ExpiryDefinition]
    /// In milliseconds since 1970.
    let time: Int64

    /// Where the children of a place hold their times; nil if they do not expire.
    func times(ofChildrenOf path: Path) -> [ExpiryTime]? {
        let times = definitions.filter { $0.pattern.segments.count == path.depth && $0.pattern.concerns(path) }
        return times.isEmpty ? nil : times.map(\.inChild)
    }

    /// The place or those above it, as far as they have expired. `hasExpired` tells that of a child, given where it
    /// holds its time.
    package func places<Failure: Error>(
        atOrAbove path: Path, where hasExpired: (_ child: Path, ExpiryTime) throws(Failure) -> Bool
    ) throws(Failure) -> [Path] {
        var places: [Path] = []
        for definition in definitions {
            let depth = definition.pattern.segments.count
            guard path.depth > depth, definition.pattern.concerns(path) else { continue }
            var ends = path.segments.lazy.map(\.upperBound).makeIterator()
            var end = 0
            for _ in 0...depth { end = ends.next() ?? end }
            let child = path.prefix(bytes: end)
            if try hasExpired(child, definition.inChild) { places.append(child) }
        }
        return places
    }

    /// A value that was read at a path without them. Costs about the length of the text.
    package func removed(from value: CanonicalJSON, at path: Path) -> CanonicalJSON {
        var expired: Set<Path> = []
        let read = Assignment(target: WriteTarget(path: path), value: value)
        for definition in definitions {
            definition.pattern.forEachPlace(concernedBy: read) { collection, isInValue in
                guard isInValue || path == collection, let relative = collection.suffix(after: path),
                    let range = value.range(of: relative)
                else { return }
                for child in value.children(in: range) {
                    guard let time = definition.time(of: value, in: child.value), time <= self.time else { continue }
                    var encoded = relative.encoded
                    child.appendSegment(to: &encoded)
                    expired.insert(Path(encoded: encoded))
                }
            }
        }
        if expired.isEmpty { return value }
        // Where one lies in another, the outer one says it all.
        var edits: [CanonicalJSON.Edit] = []
        for path in expired.sorted() where !(edits.last?.path.contains(path) ?? false) {
            edits.append(CanonicalJSON.Edit(path: path, value: .null))
        }
        return value.setting(edits)
    }
}
