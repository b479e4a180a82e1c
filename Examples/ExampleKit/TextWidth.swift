extension Unicode.Scalar {
    /// Whether it turns the direction of what follows.
    var isDirection: Bool { (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value) }
}

extension Character {
    /// Columns that terminals give it.
    var columns: Int {
        guard let first = unicodeScalars.first, first.value >= 0x300 else { return 1 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF,
            0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}

extension String {
    /// Columns that terminals give it.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Cut or filled up with spaces to a width, as ``Line`` shows it.
    public func padded(to width: Int) -> String {
        let line = Line(self)
        return line.width <= width ? line.fitted(to: width).text : line.fitted(to: width - 1).text + "…"
    }

    /// Broken into lines of at most so many columns, between words where that is possible.
    public func wrapped(to width: Int) -> [String] {
        var lines: [String] = []
        for paragraph in split(separator: "\n", omittingEmptySubsequences: false) {
            var line = ""
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
                if !line.isEmpty, line.columns + 1 + String(word).columns <= width {
                    line += " " + word
                    continue
                }
                if !line.isEmpty { lines.append(line) }
                line = ""
                for character in word {
                    if line.columns + character.columns > width, !line.isEmpty {
                        lines.append(line)
                        line = ""
                    }
                    line.append(character)
                }
            }
            lines.append(line)
        }
        return lines
    }
}
