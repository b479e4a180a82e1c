import HearthJSONValues
package import HearthJSONTree
import HearthRealtimeDatabase
package import HearthTreeStorage
package import HearthStorageErrors

/// The commits at, above and below a place, the newest first.
package struct HistoryPage: Sendable {
    private let path: Path
    /// The sequence number that it goes back from; nil for the end.
    private let before: UInt64?
    private let limit: Int

    package init(path: Path, before: UInt64?, limit: Int) {
        self.path = path
        self.before = before
        self.limit = limit
    }

    private static let limitMax = 1000
    /// Places of one operation that are told.
    private static let changesMax = 100
    /// Values up to this are told whole.
    private static let valueBytesMax = 1000
    /// The maximum number of log bytes read for one answer.
    private static let readBytesMax = 64 << 20

    /// Costs the part of the log that is read. `"before"` says where the next page begins; it is missing when there is
    /// none.
    ///
    /// - parameter log: nil for a database without a log.
    package func read(_ log: LogReader?) throws(StorageError) -> [UInt8] {
        guard let log else { return Array(#"{"entries":[]}"#.utf8) }
        let limit = min(max(limit, 1), Self.limitMax)
        var entries: [JSONValue] = []
        var next: UInt64?
        var bytesLeft = Self.readBytesMax
        try log.forEachRecordBackwards(before: before) { (record) throws(StorageError) in
            bytesLeft -= record.body.count
            for operation in try record.operations().reversed() {
                if let before, operation.sequence >= before { continue }
                guard entries.count < limit else { return false }
                next = operation.sequence
                if let entry = entry(of: operation) { entries.append(.object(entry)) }
            }
            return bytesLeft > 0
        } end: {
            next = nil
        }
        return JSONObject(["entries": .array(entries), "before": next.map { .integer(Int64(clamping: $0)) }]).bytes
    }

    /// Nil for an operation that changes nothing at, above or below the place.
    func entry(of operation: LoggedOperation) -> JSONObject? {
        let concerned = operation.assignments.filter {
            path.contains($0.target.path) || !$0.target.isPriority && $0.target.path.contains(path)
        }
        if concerned.isEmpty { return nil }
        let changes = concerned.prefix(Self.changesMax).map { JSONValue.object(change($0)) }
        return JSONObject([
            "seq": .integer(Int64(clamping: operation.sequence)), "time": .integer(operation.time),
            "uid": operation.uid.isEmpty ? nil : .string(operation.uid), "changes": .array(Array(changes)),
            "more": concerned.count > changes.count ? .integer(Int64(concerned.count - changes.count)) : nil,
        ])
    }

    /// A change above the place is given as its effect on the place.
    private func change(_ assignment: Assignment) -> JSONObject {
        var target = assignment.target
        var value = assignment.value
        if !path.contains(target.path), let suffix = path.suffix(after: target.path) {
            value = value.value(at: suffix)
            target.path = path
        }
        var object = JSONObject(["path": .string([UInt8(ascii: "/")] + target.text)])
        if value.bytes.count <= Self.valueBytesMax, let value = try? JSONValue(parsing: value.bytes) {
            object["value"] = value
        } else {
            object["bytes"] = .integer(Int64(value.bytes.count))
        }
        return object
    }
}
