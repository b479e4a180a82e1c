import HearthJSONTree
import HearthTreeText

/// Finds out which of the objects that are spread over rows are shown as arrays (Protocol.md 7.1), in the order in
/// which they begin: the first of two passes to the plain form of a large value. Takes a byte for each such object,
/// which has some kilobytes of text.
struct ArrayFinder: RowVisitor {
    private struct Open {
        var index: Int
        var shape = ArrayShape()
    }

    private(set) var areArrays: [Bool] = []
    private var open: [Open] = []

    mutating func beginObject(_ key: UnsafeRawBufferPointer?) {
        noteChild(key)
        open.append(Open(index: areArrays.count))
        areArrays.append(false)
    }

    mutating func priority(_ priority: CanonicalJSON) {}

    mutating func value(_ key: UnsafeRawBufferPointer?, _ value: CanonicalJSON) { noteChild(key) }

    mutating func endObject() {
        guard let last = open.popLast() else { return }
        areArrays[last.index] = last.shape.isArray
    }

    private mutating func noteChild(_ key: UnsafeRawBufferPointer?) {
        if let key, !open.isEmpty { open[open.count - 1].shape.add(encoded: key) }
    }
}

/// Writes the plain form (``JSONOutput/plain``) of a large value: the second pass.
struct PlainText: RowVisitor {
    private struct Open {
        var isArray: Bool
        /// Elements or members written so far.
        var count = 0
    }

    /// The result of ``ArrayFinder``.
    private let areArrays: [Bool]
    private var begun = 0
    private var open: [Open] = []
    private var text: [UInt8] = []

    init(areArrays: [Bool]) { self.areArrays = areArrays }

    /// Bytes of text that were not taken yet.
    var byteCount: Int { text.count }

    mutating func takeText() -> [UInt8] {
        defer { text.removeAll(keepingCapacity: true) }
        return text
    }

    mutating func beginObject(_ key: UnsafeRawBufferPointer?) {
        begin(key)
        let isArray = begun < areArrays.count && areArrays[begun]
        begun += 1
        open.append(Open(isArray: isArray))
        text.append(UInt8(ascii: isArray ? "[" : "{"))
    }

    mutating func priority(_ priority: CanonicalJSON) {}

    mutating func value(_ key: UnsafeRawBufferPointer?, _ value: CanonicalJSON) {
        begin(key)
        JSONOutput.plain.append(value, to: &text)
    }

    mutating func endObject() {
        guard let last = open.popLast() else { return }
        text.append(UInt8(ascii: last.isArray ? "]" : "}"))
    }

    private mutating func begin(_ key: UnsafeRawBufferPointer?) {
        guard let key, let last = open.indices.last else { return }
        if open[last].isArray {
            // An array has no other keys; the places before this one that nothing is at are null.
            let index = Key.arrayIndex(encoded: key) ?? open[last].count
            while open[last].count <= index {
                if open[last].count > 0 { text.append(UInt8(ascii: ",")) }
                if open[last].count < index { text.append(contentsOf: "null".utf8) }
                open[last].count += 1
            }
        } else {
            if open[last].count > 0 { text.append(UInt8(ascii: ",")) }
            open[last].count += 1
            Key.appendJSON(encoded: key, to: &text)
            text.append(UInt8(ascii: ":"))
        }
    }
}
