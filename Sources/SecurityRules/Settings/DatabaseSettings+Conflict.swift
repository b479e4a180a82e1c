package import HearthJSONTree

extension DatabaseSettings {
    /// Why the settings refuse a write of somebody who is not an administrator; nil if they do not. For tools that have
    /// a whole tree in memory.
    package func refusal(of assignments: [Assignment], in tree: any RuleTree) throws(RuleTreeError) -> String? {
        if let path = keptPath(amongTargetsOf: assignments) { return Self.refusalText(ofKept: path) }
        if let text = try exceededLimit(by: assignments, in: tree) { return text }
        return try conflict(of: assignments, in: tree)?.message
    }

    /// The first place at or below a total that the server keeps.
    package func keptPath(amongTargetsOf assignments: [Assignment]) -> Path? {
        if counters.isEmpty { return nil }
        return assignments.first { written in counters.contains { $0.keeps(written.target.path) } }?.target.path
    }

    package static func refusalText(ofKept path: Path) -> String {
        "The server keeps the value at \"\(path)\": it cannot be written"
    }

    /// The first conflict that a write makes, for tools that have a whole tree in memory: looks at every child of every
    /// collection. Server values in the assignments are resolved.
    package func conflict(of assignments: [Assignment], in tree: any RuleTree) throws(RuleTreeError) -> UniqueConflict?
    {
        let written = WrittenTree(tree, assignments)
        for unique in uniques {
            let search = ConflictSearch(index: unique.index, before: tree, after: written, assignments: assignments)
            if let found = try search.conflict(in: [], unique.pattern.segments[...]) { return found }
        }
        return nil
    }
}

/// The search of collections whose children have come to share a value.
private struct ConflictSearch {
    let index: QueryIndex
    let before: any RuleTree
    let after: any RuleTree
    let assignments: [Assignment]

    /// In the collections at and below `path` that match what is left of a pattern.
    func conflict(in path: [UInt8], _ pattern: ArraySlice<[UInt8]?>) throws(RuleTreeError) -> UniqueConflict? {
        guard let first = pattern.first else { return try conflict(amongChildrenOf: path) }
        if let segment = first { return try conflict(in: path + segment, pattern.dropFirst()) }
        for segment in try after.children(of: path) {
            if let found = try conflict(in: path + segment, pattern.dropFirst()) { return found }
        }
        return nil
    }

    private func conflict(amongChildrenOf collection: [UInt8]) throws(RuleTreeError) -> UniqueConflict? {
        // Of each value: whether the write made a child have it.
        var groups: [[UInt8]: Bool] = [:]
        let isReplaced = assignments.contains {
            !$0.target.isPriority && $0.target.path.contains(Path(encoded: collection))
        }
        for segment in try after.children(of: collection) {
            let path = index.comparedPath(ofChildAt: collection + segment)
            guard let value = try UniqueValue.read(path, in: after) else { continue }
            let old = isReplaced ? nil : try UniqueValue.read(path, in: before)
            let isNew = old != value
            guard let known = groups[value] else {
                groups[value] = isNew
                continue
            }
            if isNew || known { return UniqueConflict(collection: Path(encoded: collection), index: index) }
        }
        return nil
    }
}
