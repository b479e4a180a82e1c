import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

/// The listens of one connection: which of them a push concerns, and which part of it (Protocol.md 5). Does no I/O.
struct ListenTable {
    struct Entry {
        let number: UInt64
        let path: Path
        /// The observed part of the place; nil for all of it.
        var query: QueryObject?
        let buffer: ChangeBuffer
        /// The whole value has been seen, or was before the listen resumed; before that, changes below the place would
        /// be parts of something unknown.
        var isComplete = false
        /// After all that was said of it, if the server says so.
        var position: [UInt8]?
        /// Much waits for the reader.
        var isHigh = false

        /// Names the listen of a query to the server.
        var tag: Int64? { query.map { _ in Int64(number) } }
    }

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Whether a reader lags.
    var isAnyHigh: Bool { entries.contains(where: \.isHigh) }

    mutating func add(_ entry: Entry) { entries.append(entry) }

    /// Takes a listen out.
    mutating func remove(_ number: UInt64) -> Entry? {
        entries.firstIndex { $0.number == number }.map { entries.remove(at: $0) }
    }

    mutating func removeAll() -> [Entry] {
        defer { entries = [] }
        return entries
    }

    /// Takes out the listens that the server has revoked.
    ///
    /// - parameter query: the text that names the query; nil for the listens to all of a place.
    mutating func removeAll(at path: Path, _ query: [UInt8]?) -> [Entry] {
        let isRevoked = { (entry: Entry) in
            entry.path == path && (entry.query?.isNamed(by: query) ?? (query == nil))
        }
        defer { entries.removeAll(where: isRevoked) }
        return entries.filter(isRevoked)
    }

    /// Somebody listens to all of a place.
    func contains(path: Path) -> Bool { entries.contains { $0.path == path && $0.query == nil } }

    mutating func drained(_ number: UInt64) {
        if let index = entries.firstIndex(where: { $0.number == number }) { entries[index].isHigh = false }
    }

    /// Hands a change to all listens it concerns: that of the tag, or without one those of all of a place. Answers
    /// those whose readers cannot keep up.
    ///
    /// - parameter position: after the change.
    mutating func deliver(_ change: Change, tag: Int64?, position: [UInt8]? = nil) -> [UInt64] {
        var overflowing: [UInt64] = []
        for index in entries.indices where entries[index].tag == tag {
            let path = entries[index].path
            guard let part = change.part(at: path) else { continue }
            if !entries[index].isComplete {
                guard part.assignments.contains(where: { $0.isWhole(path) }) else { continue }
            }
            // Changes that another listen missed are not new to this one.
            if let position, let last = entries[index].position, !position.isBehind(last) { continue }
            if !put(part, index, position) { overflowing.append(entries[index].number) }
        }
        return overflowing
    }

    /// The server has registered a listen. When it had nothing to say, there is nothing (Protocol.md 4.2).
    ///
    /// - parameter position: everything up to it was said.
    mutating func registered(_ number: UInt64, position: [UInt8]? = nil) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        if !entries[index].isComplete {
            _ = put(.set(.init(target: WriteTarget(path: entries[index].path), value: .null)), index)
        }
        if let position {
            entries[index].position = position
            entries[index].buffer.reach(position)
        }
    }

    /// False if the reader cannot keep up.
    private mutating func put(_ change: Change, _ index: Int, _ position: [UInt8]? = nil) -> Bool {
        entries[index].isComplete = true
        if let position { entries[index].position = position }
        switch entries[index].buffer.put(change, position: position) {
        case .normal: return true
        case .high:
            entries[index].isHigh = true
            return true
        case .overflow: return false
        }
    }
}
