package import HearthJSONTree

/// A mistake in a text that ``JSONPieces`` reads, with its position in the text and in the tree.
package struct JSONPieceError: Error, Hashable, Sendable {
    /// The offset counts from the start of the whole text.
    package var error: JSONError
    /// The value that was under way, or the object whose key is wrong.
    package var path: Path
}

extension JSONPieceError: CustomStringConvertible {
    /// One line for people, with the position. Quotes the path, which is user data.
    package var description: String {
        // The depth left below a path is not a helpful number.
        let what = if case .tooDeep = error.kind { "\(PathError.tooDeep)" } else { error.description }
        return "at byte \(error.offset), in \(path): \(what)"
    }
}

/// Finds the place in the tree of a place in a text.
enum JSONPlace {
    private struct Open {
        /// Nil in an array.
        var key: Key?
        var index: Int32?
    }

    /// The keys that lead from the value that is `text` to the byte at `offset`, as far as the text makes sense.
    /// O(bytes).
    static func path(in text: ArraySlice<UInt8>, upTo offset: Int) -> Path {
        var open: [Open] = []
        var awaitsKey = false
        var position = text.startIndex
        let end = min(text.startIndex + offset, text.endIndex)
        while position < end {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "{"):
                open.append(Open())
                awaitsKey = true
            case UInt8(ascii: "["):
                open.append(Open(index: 0))
                awaitsKey = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                open.removeLast(min(1, open.count))
                awaitsKey = false
            case UInt8(ascii: ","):
                guard let last = open.last else { continue }
                open[open.count - 1] = Open(index: last.index.map { $0 + 1 })
                awaitsKey = last.index == nil
            case UInt8(ascii: "\""):
                let start = position
                while position < end, text[position] != UInt8(ascii: "\"") {
                    position += text[position] == UInt8(ascii: "\\") ? 2 : 1
                }
                if awaitsKey, position < end { open[open.count - 1].key = key(text[start..<position]) }
                awaitsKey = false
                position += 1
            default: break
            }
        }
        return Path(open.compactMap { $0.key ?? $0.index.map { Key($0) } })
    }

    private static func key(_ text: ArraySlice<UInt8>) -> Key? {
        var utf8: [UInt8] = []
        text.withUnsafeBytes { JSONText.appendUnescaped($0, to: &utf8) }
        return try? Key(validating: utf8)
    }
}
