package import HearthJSONTree

extension IndexPattern {
    /// Visits the places of the pattern that an assignment concerns: the one that its own place is at or below, or
    /// those in its value.
    package func forEachPlace(
        concernedBy assignment: Assignment, _ body: (_ place: Path, _ isInValue: Bool) -> Void
    ) {
        let path = assignment.target.path
        var above = path.segments
        var end = 0
        for (depth, segment) in segments.enumerated() {
            guard let range = above.next() else {
                let value = assignment.value
                return Self.forEachPlace(of: segments[depth...], in: value, value.range, at: path) { body($0, true) }
            }
            guard segment?.elementsEqual(path.encoded[range]) ?? true else { return }
            end = range.upperBound
        }
        body(path.prefix(bytes: end), false)
    }

    private static func forEachPlace(
        of pattern: ArraySlice<[UInt8]?>, in json: CanonicalJSON, _ range: Range<Int>, at path: Path,
        _ body: (Path) -> Void
    ) {
        guard let first = pattern.first else { return body(path) }
        if let first {
            guard let inner = json.range(of: Path(encoded: first), in: range) else { return }
            let next = Path(encoded: path.encoded + first)
            return forEachPlace(of: pattern.dropFirst(), in: json, inner, at: next, body)
        }
        for child in json.children(in: range) {
            var encoded = path.encoded
            child.appendSegment(to: &encoded)
            forEachPlace(of: pattern.dropFirst(), in: json, child.value, at: Path(encoded: encoded), body)
        }
    }
}
