/// How alike two names are.
enum Spelling {
    /// Letters that must be inserted, removed or replaced to make one of the other, where neighbours that have changed
    /// places count as one, and so does the case of all letters (optimal string alignment).
    static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first.lowercased().unicodeScalars), Array(second.lowercased().unicodeScalars))
        // No rule has a name that long.
        if max(a.count, b.count) > 40 { return .max }
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, before[j - 1] + 1) }
                row.append(best)
            }
            (before, last) = (last, row)
        }
        return last[b.count]
    }
}
