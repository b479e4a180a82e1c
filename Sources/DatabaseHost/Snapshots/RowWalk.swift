import HearthJSONTree
import HearthTreeText
import HearthRealtimeDatabase

/// Is led through the rows of a node, which come in key order, as through a tree. Keys are encoded segments,
/// nil for the node itself.
protocol RowVisitor {
    /// An object begins whose children are spread over several rows.
    mutating func beginObject(_ key: UnsafeRawBufferPointer?)
    /// The priority of the object that has just begun.
    mutating func priority(_ priority: CanonicalJSON)
    /// A value that is in one row.
    mutating func value(_ key: UnsafeRawBufferPointer?, _ value: CanonicalJSON)
    mutating func endObject()
}

extension NodeHashBuilder: RowVisitor {}

/// Leads a visitor through rows: tells which objects each of them opens and closes.
struct RowWalk<Visitor: RowVisitor> {
    var visitor: Visitor
    /// Bytes of each row's key that name the node itself.
    private let base: Int
    private var hasBegun = false
    /// The keys of the open objects below the node, as one encoded path, and where each begins.
    private var open: [UInt8] = []
    private var openStarts: [Int] = []

    init(base: Int, _ visitor: Visitor) {
        self.base = base
        self.visitor = visitor
    }

    /// The next row. Its key must be at or below the node and after all keys before it.
    mutating func append(_ row: Row) {
        row.key.withUnsafeBytes { key in
            append(UnsafeRawBufferPointer(rebasing: key[base...]), row.value)
        }
    }

    private mutating func append(_ place: UnsafeRawBufferPointer, _ value: RowValue) {
        if place.isEmpty, case .subtree(let json) = value { return visitor.value(nil, json) }
        if !hasBegun {
            hasBegun = true
            visitor.beginObject(nil)
        }
        closeObjects(notOn: place)
        var start = open.count
        while start < place.count {
            let end = Path.segmentEnd(in: place, from: start)
            let key = UnsafeRawBufferPointer(rebasing: place[start..<end])
            if end == place.count, case .subtree(let json) = value { return visitor.value(key, json) }
            visitor.beginObject(key)
            openStarts.append(start)
            open.append(contentsOf: key)
            start = end
        }
        if case .header(let priority) = value { visitor.priority(priority) }
    }

    /// Closes the open objects.
    mutating func close() {
        for _ in openStarts { visitor.endObject() }
        if hasBegun { visitor.endObject() }
    }

    private mutating func closeObjects(notOn place: UnsafeRawBufferPointer) {
        var shared = 0
        let limit = min(open.count, place.count)
        while shared < limit, open[shared] == place[shared] { shared += 1 }
        while let start = openStarts.last, shared < open.count {
            visitor.endObject()
            open.removeSubrange(start...)
            openStarts.removeLast()
        }
    }
}
