package import HearthJSONTree

/// The places whose children an `.indexOn` of the rules orders: keys, or wildcards for any key.
package struct IndexPattern: Hashable, Sendable {
    /// Encoded keys; nil for a wildcard.
    package var segments: [[UInt8]?]

    package init(segments: [[UInt8]?] = []) { self.segments = segments }

    /// `rooms/$/messages`; no key contains a `$`.
    package var text: String {
        segments.map { $0.map { Path(encoded: $0).lastKey?.description ?? "" } ?? "$" }.joined(separator: "/")
    }

    /// Whether a path is that of a place of the pattern, or lies below or above one.
    package func concerns(_ path: Path) -> Bool {
        var keys = path.segments
        for segment in segments {
            guard let range = keys.next() else { return true }
            guard segment?.elementsEqual(path.encoded[range]) ?? true else { return false }
        }
        return true
    }

    /// Reads the text of ``text``.
    package init?(text: String) {
        segments = []
        if text.isEmpty { return }
        for part in text.split(separator: "/", omittingEmptySubsequences: false) {
            if part == "$" {
                segments.append(nil)
            } else {
                guard let key = try? Key(validating: String(part)) else { return nil }
                segments.append(Path([key]).encoded)
            }
        }
    }
}

/// An index that the rules ask for.
package struct IndexDefinition: Hashable, Sendable {
    package var pattern: IndexPattern
    /// `.value` or `.child`: the order of keys and that of priorities need no definition.
    package var index: QueryIndex

    package init(pattern: IndexPattern, index: QueryIndex) {
        self.pattern = pattern
        self.index = index
    }
}
