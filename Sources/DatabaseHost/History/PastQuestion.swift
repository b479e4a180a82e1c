import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
package import HearthTreeStorage

/// A request to the history of a place (additions.md 9).
package enum PastQuestion: Sendable {
    /// The value at a moment.
    case value(HistoryFile.Moment)
    /// The same, of a place whose history is kept as a whole, so that it can be restored.
    case whole(HistoryFile.Moment)
    /// The operations that changed something there, the newest first, before a number.
    case commits(before: UInt64?, limit: Int)
    /// The differences between the values at two moments, except parts that were erased from one of them; without the
    /// second, the present value.
    case differences(from: HistoryFile.Moment, to: HistoryFile.Moment?, limit: Int)

    private static let limitMax = 1000

    /// JSON text; of a value, the value itself in canonical form. One that is too large for memory can be copied
    /// (``copy(at:by:)``).
    ///
    /// - parameter bytesMax: of a value.
    func answer(at path: Path, by file: HistoryFile, bytesMax: Int) throws(HistoryError) -> CanonicalJSON {
        switch self {
        case .whole(let moment):
            guard file.keeps(path) else { throw .notKept }
            let sequence = try file.sequence(at: moment, of: path)
            try file.checkRestoring(path, after: sequence)
            return try file.value(at: path, after: sequence)
        case .value(let moment):
            return try file.value(
                at: path, after: try file.sequence(at: moment, of: path), bytesMax: bytesMax)
        case .commits(let before, let limit):
            let limit = min(max(limit, 1), Self.limitMax)
            let found = try file.commits(at: path, before: before, limit: limit)
            let page = HistoryPage(path: path, before: before, limit: limit)
            let entries = found.commits.compactMap { page.entry(of: $0) }
            return CanonicalJSON(
                trusted: JSONObject([
                    "entries": .array(entries.map { .object($0) }),
                    "before": found.next.map { .integer(Int64(clamping: $0)) },
                ]).bytes)
        case .differences(let from, let to, let limit):
            let start = try file.sequence(at: from, of: path)
            let end = try file.sequence(at: to ?? .sequence(.max), of: path)
            // Erased parts are known only of one of them.
            let unknown = try file.erasures(at: path, after: min(start, end)).compactMap { $0.suffix(after: path) }
            func value(after sequence: UInt64) throws(HistoryError) -> CanonicalJSON {
                var value = try file.value(at: path, after: sequence)
                for place in unknown where value.hasValue(at: place) { value = value.setting(.null, at: place) }
                return value
            }
            let found = ValueDifferences(
                from: try value(after: start), to: try value(after: end),
                limit: min(max(limit, 1), Self.limitMax))
            return CanonicalJSON(trusted: try Self.text(of: found, start, end))
        }
    }

    /// Whether it is answered where the value is too large for memory.
    var mayBeCopied: Bool { if case .value = self { true } else { false } }

    /// How a value that is too large for memory is put together.
    func copy(at path: Path, by file: HistoryFile) throws(HistoryError) -> PastCopy {
        guard case .value(let moment) = self else { throw .tooLarge }
        return try file.copy(of: path, after: try file.sequence(at: moment, of: path))
    }

    /// Bytes of the differences of one answer.
    private static let differenceBytesMax = 64 << 20

    private static func text(
        of found: ValueDifferences, _ start: UInt64, _ end: UInt64
    ) throws(HistoryError) -> [UInt8] {
        var out = Array(#"{"from":\#(start),"to":\#(end),"changes":["#.utf8)
        for (index, difference) in found.places.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            difference.append(to: &out)
            if out.count > differenceBytesMax { throw .tooLarge }
        }
        out.append(UInt8(ascii: "]"))
        let more = found.count - found.places.count
        if more > 0 { out += Array(#","more":\#(more)"#.utf8) }
        out.append(UInt8(ascii: "}"))
        return out
    }
}
