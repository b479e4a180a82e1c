import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
package import HearthTreeStorage

/// What is asked of the history of a place (additions.md 9).
package enum PastQuestion: Sendable {
    /// What was there.
    case value(HistoryFile.Moment)
    /// The operations that changed something there, the newest first, before a number.
    case commits(before: UInt64?, limit: Int)
    /// Where the values at two moments differ; without the second, the present one.
    case differences(from: HistoryFile.Moment, to: HistoryFile.Moment?, limit: Int)

    private static let limitMax = 1000

    /// JSON text; of a value, the value itself in canonical form.
    func answer(at path: Path, by file: HistoryFile) throws(HistoryError) -> CanonicalJSON {
        switch self {
        case .value(let moment):
            return try file.value(at: path, after: try file.sequence(at: moment, of: path))
        case .commits(let before, let limit):
            let limit = min(max(limit, 1), Self.limitMax)
            let commits = try file.commits(at: path, before: before, limit: limit + 1)
            let page = HistoryPage(path: path, before: before, limit: limit)
            let entries = commits.prefix(limit).compactMap { page.entry(of: $0.operation, at: $0.time) }
            let next = commits.count > limit ? commits[limit - 1].operation.sequence : nil
            return CanonicalJSON(
                trusted: JSONObject([
                    "entries": .array(entries.map { .object($0) }),
                    "before": next.map { .integer(Int64(clamping: $0)) },
                ]).bytes)
        case .differences(let from, let to, let limit):
            let start = try file.sequence(at: from, of: path)
            let end = try file.sequence(at: to ?? .sequence(.max), of: path)
            let found = ValueDifferences(
                from: try file.value(at: path, after: start), to: try file.value(at: path, after: end),
                limit: min(max(limit, 1), Self.limitMax))
            return CanonicalJSON(trusted: Self.json(of: found, start, end))
        }
    }

    private static func json(of found: ValueDifferences, _ start: UInt64, _ end: UInt64) -> [UInt8] {
        let changes = found.places.map { difference in
            var object = JSONObject(["path": .string([UInt8(ascii: "/")] + difference.path.text)])
            // A member that is missing says that nothing was there.
            if !difference.before.isNull { object["before"] = try? JSONValue(parsing: difference.before.bytes) }
            if !difference.after.isNull { object["after"] = try? JSONValue(parsing: difference.after.bytes) }
            return JSONValue.object(object)
        }
        return JSONObject([
            "from": .integer(Int64(clamping: start)), "to": .integer(Int64(clamping: end)), "changes": .array(changes),
            "more": found.count > changes.count ? .integer(Int64(found.count - changes.count)) : nil,
        ]).bytes
    }
}
