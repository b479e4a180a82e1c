import HearthJSONTree

/// Cuts the text of a large value into pieces, in tree order: subtrees of up to `pieceBytesMax` bytes, leaves of any
/// size, and the priorities of the nodes above them.
///
///     var pieces = CanonicalPieces(pieceBytesMax: 2048)
///     while let piece = pieces.next(text) { use(pieces.path, piece) }
///
/// It is a position in the text: a copy continues from the same place. Each byte is looked at about twice. Stays within
/// the text even if it is damaged.
package struct CanonicalPieces: Sendable {
    package struct Piece: Hashable, Sendable {
        /// The text of the value or the priority.
        package var range: Range<Int>
        /// It is the priority of a node whose children follow.
        package var isPriority: Bool
    }

    private enum Place {
        /// `offset` is that of a value.
        case value
        /// `offset` is that of the key of a member.
        case member
        /// `offset` is after a value.
        case behind
        case end
    }

    /// The encoded path of the last piece, relative to the whole value.
    package private(set) var path: [UInt8] = []
    /// Bytes of the text that are used up.
    package private(set) var offset = 0
    /// Where the segments of `path` begin.
    private var starts: [Int] = []
    private var place = Place.value
    private let pieceBytesMax: Int

    package init(pieceBytesMax: Int) { self.pieceBytesMax = pieceBytesMax }

    /// The next piece of a canonical text, always the same one; nil at the end.
    package mutating func next(_ text: UnsafeRawBufferPointer) -> Piece? {
        while true {
            switch place {
            case .end: return nil
            case .behind: leave(text)
            case .member: enter(text)
            case .value:
                if let piece = takeValue(text) { return piece }
            }
        }
    }

    /// Takes a value, or goes into it.
    private mutating func takeValue(_ text: UnsafeRawBufferPointer) -> Piece? {
        let start = offset
        guard start < text.count else {
            place = .end
            return nil
        }
        if text[start] == UInt8(ascii: "{"), !fits(text) {
            guard CanonicalScan.has("\".priority\":", text, at: start + 1) else {
                if !CanonicalScan.has("\".sv\":", text, at: start + 1) {
                    offset = start + 1
                    place = .member
                    return nil
                }
                return takeWhole(text)
            }
            let priority = start + 13
            let end = CanonicalScan.valueEnd(text, from: priority)
            if !CanonicalScan.has("\".value\":", text, at: end + 1) {
                offset = min(end + 1, text.count)
                place = .member
                return Piece(range: priority..<end, isPriority: true)
            }
        }
        return takeWhole(text)
    }

    private mutating func takeWhole(_ text: UnsafeRawBufferPointer) -> Piece {
        let start = offset
        offset = CanonicalScan.valueEnd(text, from: start)
        place = .behind
        return Piece(range: start..<offset, isPriority: false)
    }

    /// Whether the object at `offset` is one piece. Looks at no more than that.
    private func fits(_ text: UnsafeRawBufferPointer) -> Bool {
        let window = text.part(0..<min(text.count, offset + pieceBytesMax + 1))
        return CanonicalScan.valueEnd(window, from: offset) - offset <= pieceBytesMax
    }

    private mutating func enter(_ text: UnsafeRawBufferPointer) {
        let keyEnd = CanonicalScan.stringEnd(text, from: offset)
        let key = text.part(min(offset + 1, keyEnd - 1)..<keyEnd - 1)
        starts.append(path.count)
        if key.contains(UInt8(ascii: "\\")) {
            var utf8: [UInt8] = []
            JSONText.appendUnescaped(key, to: &utf8)
            utf8.withUnsafeBytes { Segment.append(key: $0, to: &path) }
        } else {
            Segment.append(key: key, to: &path)
        }
        offset = min(keyEnd + 1, text.count)
        place = .value
    }

    /// Goes to the next member of the innermost object that has one.
    private mutating func leave(_ text: UnsafeRawBufferPointer) {
        while let start = starts.popLast(), offset < text.count {
            path.removeSubrange(start...)
            offset += 1
            if text[offset - 1] == UInt8(ascii: ",") {
                place = .member
                return
            }
        }
        place = .end
    }
}
