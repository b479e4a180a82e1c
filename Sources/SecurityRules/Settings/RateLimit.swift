import HearthJSONTree

/// How often something may be done at the places of a pattern (docs/using/additions.md 6).
package struct RateLimit: Hashable, Sendable {
    /// The counted unit.
    package enum Measure: String, CaseIterable, Hashable, Sendable {
        case write
        case read
        case listen
        /// Bytes of the values that are written.
        case bytes
        /// Bytes of the values that reads answer, and that listeners begin with.
        case bytesRead
    }

    /// The property that tells clients apart.
    package enum Subject: Hashable, Sendable {
        /// `uid` is the claim `auth.uid`: the keys on the way to it, without `auth`.
        case claim([[UInt8]])
        case address
        /// The key at this depth of the path, where the pattern has a wildcard.
        case key(depth: Int)
    }

    /// The largest number of a rate and of a burst.
    package static let largestCount = 1_000_000_000

    package var pattern: IndexPattern
    package var measure: Measure
    /// Empty if all clients share the rate.
    package var subjects: [Subject]
    /// So many in a period, in milliseconds.
    package var count: Int
    package var period: Int
    /// So many at once after a pause.
    package var burst: Int

    package init(
        pattern: IndexPattern, measure: Measure, subjects: [Subject], count: Int, period: Int, burst: Int? = nil
    ) {
        self.pattern = pattern
        self.measure = measure
        self.subjects = subjects
        self.count = count
        self.period = period
        self.burst = burst ?? count
    }
}

extension RuleAuth {
    /// The JSON text of a claim that is a string, a number or a Boolean; nil if there is no such claim.
    package func claim(_ keys: [[UInt8]]) -> [UInt8]? {
        var value = RuleValue.object(object)
        for key in keys {
            guard case .object(let object) = value else { return nil }
            value = key.withUnsafeBytes { object.member($0) }
        }
        switch value {
        case .text(let text): return CanonicalJSON(string: text.utf8).bytes
        case .number(let number): return Array(number.description.utf8)
        case .bool(let isTrue): return Array((isTrue ? "true" : "false").utf8)
        case .null, .object, .list, .snapshot, .thing: return nil
        }
    }
}
