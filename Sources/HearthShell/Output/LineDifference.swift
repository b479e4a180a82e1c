/// The lines that two texts do not share.
package enum LineDifference {
    /// Each line that was removed from `old`, as `-3: text`, and each that `new` has in addition, as `+3: text`, with
    /// its number in its own text, in the order in which they occur. Empty if both texts have the same lines.
    package static func lines(from old: String, to new: String) -> [String] {
        func split(_ text: String) -> [String] {
            var lines = text.lines
            // A line break at the end ends the last line, and begins none.
            if lines.last == "" { lines.removeLast() }
            return lines
        }
        let (old, new) = (split(old), split(new))
        var isRemoved = [Bool](repeating: false, count: old.count)
        var isInserted = [Bool](repeating: false, count: new.count)
        for change in new.difference(from: old) {
            switch change {
            case .remove(let offset, _, _): isRemoved[offset] = true
            case .insert(let offset, _, _): isInserted[offset] = true
            }
        }
        var lines: [String] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if i < old.count, isRemoved[i] {
                lines.append("-\(i + 1): \(old[i])")
                i += 1
            } else if j < new.count, isInserted[j] {
                lines.append("+\(j + 1): \(new[j])")
                j += 1
            } else {
                i += 1
                j += 1
            }
        }
        return lines
    }
}
