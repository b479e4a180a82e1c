import HearthJSONTree

/// Stretches of keys in which no entry is, but many were: entries that are removed are passed by every scan until the
/// store does not have them any more. Scans that begin at the same place again and again, such as that for the next
/// children to expire, pass them once.
struct EntryGaps {
    static let gapsMax = 8
    /// Shorter stretches are passed quickly.
    static let removedMin = 32

    /// They do not overlap.
    private(set) var gaps: [KeyRange] = []

    /// The part of a range that a scan has to visit.
    func visited(_ range: KeyRange, _ direction: ScanDirection) -> KeyRange {
        var range = range
        switch direction {
        case .ascending:
            while let gap = gaps.first(where: { $0.contains(range.lower) }) { range.lower = gap.upper }
        case .descending:
            while let gap = gaps.first(where: { $0.ends(atOrAfter: range.upper) }) { range.upper = gap.lower }
        }
        return range
    }

    /// No entry is in a range.
    mutating func add(_ range: KeyRange) {
        var new = range
        gaps.removeAll { gap in
            guard gap.touches(new) else { return false }
            if gap.lower.precedesBytewise(new.lower) { new.lower = gap.lower }
            if new.upper.precedesBytewise(gap.upper) { new.upper = gap.upper }
            return true
        }
        if gaps.count == Self.gapsMax { gaps.removeFirst() }
        gaps.append(new)
    }

    /// An entry was added. The part of its gap before it remains a gap.
    mutating func fill(_ key: [UInt8]) {
        guard let index = gaps.firstIndex(where: { $0.contains(key) }) else { return }
        gaps[index].upper = key
        if gaps[index].lower == key { gaps.remove(at: index) }
    }

    /// There can be entries anywhere in a range.
    mutating func forget(_ range: KeyRange) { gaps.removeAll { $0.touches(range) } }
}

extension KeyRange {
    fileprivate func ends(atOrAfter key: [UInt8]) -> Bool {
        lower.precedesBytewise(key) && !upper.precedesBytewise(key)
    }

    /// Whether the two overlap, or one begins where the other ends.
    fileprivate func touches(_ other: KeyRange) -> Bool {
        !other.upper.precedesBytewise(lower) && !upper.precedesBytewise(other.lower)
    }
}
