package import HearthJSONTree
import HearthTreeText

/// Joins rows, given in key order, to the canonical text of the node they belong to.
///
/// Rows inside the node nest: the joiner keeps the path of objects that are open, closes the objects that the next row
/// is not in, and opens those that it needs.
package struct RowJoiner {
    /// Bytes of each row's key that name the node itself.
    private let base: Int
    private var out: [UInt8] = []
    /// The keys of the open objects below the node, as one encoded path, and where each begins.
    private var open: [UInt8] = []
    private var openStarts: [Int] = []
    /// Whether the innermost open object already has a member, or the value is a single row.
    private var hasMember = false
    private var isObject = false

    package init(base: Int) { self.base = base }

    /// Bytes of text so far.
    package var count: Int { out.count }

    /// Adds the next row. Its key must be at or below the node and after all keys before it.
    package mutating func append(key: [UInt8], value: RowValue) {
        if key.count == base, case .subtree(let json) = value {
            out = json.bytes
            hasMember = true
            return
        }
        if !isObject {
            out.append(UInt8(ascii: "{"))
            isObject = true
        }
        key.withUnsafeBytes { bytes in
            let relative = UnsafeRawBufferPointer(rebasing: bytes[base...])
            closeObjects(notOn: relative)
            switch value {
            case .subtree(let json):
                let last = openObjects(above: relative)
                writeKey(UnsafeRawBufferPointer(rebasing: relative[last...]))
                out.append(contentsOf: json.bytes)
                hasMember = true
            case .header(let priority):
                let last = openObjects(above: relative)
                if last < relative.count { openObject(UnsafeRawBufferPointer(rebasing: relative[last...])) }
                out.append(contentsOf: #"".priority":"#.utf8)
                out.append(contentsOf: priority.bytes)
                hasMember = true
            }
        }
    }

    /// The whole text; null when there was no row.
    package consuming func finish() -> CanonicalJSON {
        close()
        return CanonicalJSON(trusted: out)
    }

    /// Ends the text. A value that is taken in pieces is complete with the next ``takeText()``.
    package mutating func close() {
        if isObject {
            for _ in openStarts { out.append(UInt8(ascii: "}")) }
            out.append(UInt8(ascii: "}"))
        } else if !hasMember {
            out = CanonicalJSON.null.bytes
        }
    }

    /// The text since the last call, for values that are too large to be kept whole.
    package mutating func takeText() -> [UInt8] {
        let text = out
        out.removeAll(keepingCapacity: true)
        return text
    }

    private mutating func closeObjects(notOn relative: UnsafeRawBufferPointer) {
        var shared = 0
        let limit = min(open.count, relative.count)
        while shared < limit, open[shared] == relative[shared] { shared += 1 }
        while let start = openStarts.last, shared < open.count {
            out.append(UInt8(ascii: "}"))
            open.removeSubrange(start...)
            openStarts.removeLast()
            hasMember = true
        }
    }

    /// Opens the objects that lie between the open ones and the row's own key. Answers where the own key begins.
    private mutating func openObjects(above relative: UnsafeRawBufferPointer) -> Int {
        var start = open.count
        while start < relative.count {
            let end = Path.segmentEnd(in: relative, from: start)
            if end == relative.count { return start }
            openObject(UnsafeRawBufferPointer(rebasing: relative[start..<end]))
            start = end
        }
        return start
    }

    private mutating func openObject(_ segment: UnsafeRawBufferPointer) {
        writeKey(segment)
        out.append(UInt8(ascii: "{"))
        openStarts.append(open.count)
        open.append(contentsOf: segment)
        hasMember = false
    }

    private mutating func writeKey(_ segment: UnsafeRawBufferPointer) {
        if hasMember { out.append(UInt8(ascii: ",")) }
        Key.appendJSON(encoded: segment, to: &out)
        out.append(UInt8(ascii: ":"))
    }
}
