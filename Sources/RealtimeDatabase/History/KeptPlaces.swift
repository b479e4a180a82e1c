package import HearthJSONTree
package import HearthSecurityRules

/// The places of a pattern whose past is kept: which parts of a change concern them, and of a value lie in them.
package struct KeptPlaces: Hashable, Sendable {
    package let pattern: IndexPattern

    package init(_ pattern: IndexPattern) { self.pattern = pattern }

    /// Whether a path is that of a place, or lies below or above one.
    package func concerns(_ path: Path) -> Bool { pattern.concerns(path) }

    /// Whether a path is that of a place, or lies below one.
    package func contains(_ path: Path) -> Bool { pattern.concerns(path) && path.depth >= pattern.segments.count }

    /// The effect of an assignment on the places: all of it, the parts of its value for them, or nothing.
    package func part(of assignment: Assignment) -> Assignment? {
        let path = assignment.target.path
        guard concerns(path) else { return nil }
        let depth = path.depth
        if depth >= pattern.segments.count { return assignment }
        // The priority of a node above.
        if assignment.target.isPriority { return nil }
        return Assignment(target: assignment.target, value: part(of: assignment.value, depth: depth))
    }

    /// The parts of a value, at a number of levels below the root, for the places at that level or below; null if there
    /// are none. O(bytes).
    private func part(of value: CanonicalJSON, depth: Int) -> CanonicalJSON {
        var text: [UInt8] = []
        return append(value, value.range, depth: depth, to: &text) ? CanonicalJSON(trusted: text) : .null
    }

    /// False, and nothing is appended, if there is nothing.
    private func append(_ json: CanonicalJSON, _ range: Range<Int>, depth: Int, to out: inout [UInt8]) -> Bool {
        if depth == pattern.segments.count {
            if json.bytes[range.lowerBound] == UInt8(ascii: "n") { return false }
            out += json.bytes[range]
            return true
        }
        let start = out.count
        for child in json.children(in: range) {
            if let wanted = pattern.segments[depth] {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                guard segment == wanted else { continue }
            }
            let before = out.count
            out.append(UInt8(ascii: before == start ? "{" : ","))
            out += json.bytes[child.keyText]
            out.append(UInt8(ascii: ":"))
            if !append(json, child.value, depth: depth + 1, to: &out) { out.removeLast(out.count - before) }
        }
        if out.count == start { return false }
        out.append(UInt8(ascii: "}"))
        return true
    }

    /// The places of which a value above them has something.
    package func places(in value: CanonicalJSON, at path: Path) -> [Path] {
        guard concerns(path), let part = part(of: Assignment(target: WriteTarget(path: path), value: value))
        else { return [] }
        var found: [Path] = []
        Self.collect(part.value, part.value.range, path.encoded, levels: pattern.segments.count - path.depth, &found)
        return found
    }

    private static func collect(
        _ json: CanonicalJSON, _ range: Range<Int>, _ path: [UInt8], levels: Int, _ found: inout [Path]
    ) {
        if levels <= 0 { return found.append(Path(encoded: path)) }
        for child in json.children(in: range) {
            var next = path
            child.appendSegment(to: &next)
            collect(json, child.value, next, levels: levels - 1, &found)
        }
    }

    /// The place above which none lies, and in whose subtree all lie: the keys before the first wildcard.
    package var top: Path { Path(encoded: pattern.segments.prefix { $0 != nil }.flatMap { $0 ?? [] }) }
}
