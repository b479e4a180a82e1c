import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// A collection that has a limit, and what a write does to it.
private struct LimitedCollection {
    let path: Path
    let limit: ChildLimit
    /// All of it is written.
    var isReplaced = false
    /// Else the children that are.
    var children: Set<[UInt8]> = []
}

extension Database {
    /// The most children that a write drops from one collection, if it does not bring more. Children older than the
    /// setting are dropped in steps.
    static let droppedMax = 1000

    /// Whether a write can lead to others in its commit.
    var hasDerivedValues: Bool {
        !indexes.catalog.counters.isEmpty || !indexes.settings.childLimits.isEmpty || !indexes.catalog.queues.isEmpty
    }

    /// The assignments of a write, and the effects of the settings: removed children and changed totals. Throws if the
    /// settings refuse it.
    func derived(
        _ assignments: [Assignment], _ prepared: PreparedRows?, by principal: Principal
    ) throws(Failure) -> [Assignment] {
        let limited = indexes.settings.childLimits.isEmpty ? assignments : try limiting(assignments)
        let written = try keepingStates(limited, by: principal)
        try checkUnique(written, prepared)
        let derived = try keepingTotals(written, by: principal)
        // Nothing is left of it.
        return derived.isEmpty ? [try unchanged(assignments[0])] : derived
    }

    /// The write, without the children for which there is no room.
    private func limiting(_ assignments: [Assignment]) throws(Failure) -> [Assignment] {
        // A place that goes with its total is not a child any more.
        let whole =
            indexes.catalog.counters.isEmpty
            ? assignments : try indexes.totals(after: assignments, isChecked: false, in: rows).assignments
        let after = WrittenTree(rows, whole)
        var dropped: [Path] = []
        for collection in limitedCollections(concernedBy: whole) {
            dropped += try excess(of: collection, after)
        }
        return dropped.isEmpty ? assignments : try dropping(dropped, from: assignments)
    }

    private func limitedCollections(concernedBy assignments: [Assignment]) -> [LimitedCollection] {
        var found: [LimitedCollection] = []
        for limit in indexes.settings.childLimits {
            var places: [Path: Int] = [:]
            for assignment in assignments where !assignment.target.isPriority {
                let path = assignment.target.path
                limit.pattern.forEachPlace(concernedBy: assignment) { collection, isInValue in
                    let number = places[collection] ?? found.count
                    if number == found.count {
                        found.append(LimitedCollection(path: collection, limit: limit))
                        places[collection] = number
                    }
                    if isInValue || path == collection {
                        found[number].isReplaced = true
                    } else {
                        let end = path.segmentEnd(from: collection.encoded.count)
                        found[number].children.insert(Array(path.encoded[..<end]))
                    }
                }
            }
        }
        return found
    }

    /// The children of a collection for which a write leaves no room. Throws if it is to be refused instead.
    private func excess(of collection: LimitedCollection, _ after: WrittenTree) throws(Failure) -> [Path] {
        let limit = collection.limit
        var segments: [[UInt8]] = []
        var count = 0
        if collection.isReplaced {
            segments = try Failure.reading { () throws(RuleTreeError) in try after.children(of: collection.path.encoded)
            }
            if segments.count <= limit.count { return [] }
            count = segments.count - limit.count
            let isMore = try childCount(of: collection.path, upTo: segments.count) < segments.count
            if !limit.dropsFirst, !isMore { return [] }
        } else {
            var change = 0
            for child in collection.children {
                let (isThere, wasThere) = try Failure.reading { () throws(RuleTreeError) in
                    (try after.exists(child), try rows.exists(child))
                }
                change += (isThere ? 1 : 0) - (wasThere ? 1 : 0)
                if isThere { segments.append(Array(child[collection.path.encoded.count...])) }
            }
            if change <= 0 { return [] }
            let most = limit.count + Self.droppedMax + collection.children.count
            let before = try childCount(of: collection.path, upTo: most)
            if before + change <= limit.count { return [] }
            count = min(before + change - limit.count, max(Self.droppedMax, change))
            if limit.dropsFirst { segments += try firstChildren(of: collection, count) }
        }
        guard limit.dropsFirst else {
            throw .refusedBySetting(why: StaticText("maxChildren"), limit.refusalText(at: collection.path))
        }
        segments.sort { $0.precedesBytewise($1) }
        return segments.prefix(count).map { Path(encoded: collection.path.encoded + $0) }
    }

    private func childCount(of collection: Path, upTo limit: Int) throws(Failure) -> Int {
        do throws(StorageError) {
            return try indexes.childCounts.count(of: collection, upTo: limit, rows)
        } catch {
            throw .unavailable(error)
        }
    }

    /// The first children that a write does not touch.
    private func firstChildren(of collection: LimitedCollection, _ count: Int) throws(Failure) -> [[UInt8]] {
        var found: [[UInt8]] = []
        do throws(StorageError) {
            try indexes.childCounts.forEachChild(of: collection.path, rows) { segment in
                if !collection.children.contains(collection.path.encoded + segment) { found.append(segment) }
                return found.count < count
            }
        } catch {
            throw .unavailable(error)
        }
        return found
    }

    /// The same write, which also drops children. Its own changes to them have no effect.
    private func dropping(_ dropped: [Path], from assignments: [Assignment]) throws(Failure) -> [Assignment] {
        let places = Set(dropped.map(\.encoded))
        func isBelow(_ path: Path) -> Bool {
            path.segments.contains { places.contains(Array(path.encoded[..<$0.lowerBound])) }
        }
        let left = assignments.filter { !places.contains($0.target.path.encoded) && !isBelow($0.target.path) }
        let written = WrittenPlaces(left)
        var removals: [DerivedValue] = []
        for path in dropped where !isBelow(path) {
            let isThere = try Failure.reading { () throws(RuleTreeError) in try rows.exists(path.encoded) }
            guard isThere || written.firstIndex(atOrAbove: path) != nil else { continue }
            removals.append(DerivedValue(target: path, value: .null))
        }
        return removals.added(to: left)
    }
}

extension RuleTree {
    func exists(_ path: [UInt8]) throws(RuleTreeError) -> Bool {
        if case .nothing = try value(at: path.span.bytes) { false } else { true }
    }
}
