/// The names that a mistyped one may mean.
package enum Suggestion {
    /// To be put after a message about an unknown name: ` (did you mean 'serve'?)`; empty if no known name is like it.
    package static func text(for name: String, among known: [String]) -> String {
        closest(to: name, among: known).map { " (did you mean '\($0)'?)" } ?? ""
    }

    /// The known name with the fewest edits, at most two and fewer than half of its letters; the first of equals.
    package static func closest(to name: String, among known: [String]) -> String? {
        let word = Array(name.lowercased().utf8)
        // A word much longer than any name is not a mistyped one.
        guard word.count <= 40 else { return nil }
        let candidates = known.map { (name: $0, edits: edits(word, Array($0.lowercased().utf8))) }
        let best = candidates.filter { $0.edits <= 2 && 2 * $0.edits < $0.name.utf8.count }
        return best.min { $0.edits < $1.edits }?.name
    }

    /// How many bytes must be inserted, removed, replaced or swapped with the next (optimal string alignment).
    static func edits(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var edits = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { edits = min(edits, rows[i - 1][j - 1] + 1) }
                row.append(edits)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
