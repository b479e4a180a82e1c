import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors

/// The past of a tested database, which begins with the test.
struct TestedPast {
    private struct Moment {
        var time: Int64
        var changes: [Assignment]
    }

    enum Refusal: Error {
        case notAdmitted(Failure)
        /// No setting keeps it.
        case notKept
        /// It is kept from this time on.
        case tooOld(Int64)
    }

    private let definitions: [HistoryDefinition]
    private var moments: [Moment] = []

    init(_ definitions: [HistoryDefinition]) { self.definitions = definitions }

    /// - parameter tree: all that was there before.
    mutating func begin(with tree: CanonicalJSON, at time: Int64) {
        moments = [Moment(time: time, changes: [Assignment(target: WriteTarget(path: .root), value: tree)])]
    }

    mutating func add(_ operations: [LoggedOperation], at time: Int64) {
        let changes = operations.flatMap(\.assignments)
        let isKept = definitions.contains { definition in
            changes.contains { KeptPlaces(definition.pattern).part(of: $0) != nil }
        }
        if isKept, !moments.isEmpty { moments.append(Moment(time: time, changes: changes)) }
    }

    /// The value of a place after the last change by a time. Above places whose history is kept it has only their
    /// values.
    func value(at path: Path, _ time: Int64, now: Int64) throws(Refusal) -> CanonicalJSON {
        let concerned = definitions.filter { KeptPlaces($0.pattern).concerns(path) }
        if concerned.isEmpty { throw .notKept }
        var value = CanonicalJSON.null
        for definition in concerned {
            let kept = KeptPlaces(definition.pattern)
            let tree = try tree(of: kept, edge: definition.edge(now: now), time)
            if kept.contains(path) { return tree.value(at: path) }
            // The places lie side by side.
            for place in kept.places(in: tree, at: .root) where path.contains(place) {
                value = value.setting(tree.value(at: place), at: place)
            }
        }
        return value.value(at: path)
    }

    /// The same, of a place whose history is kept as a whole, so that it can be restored.
    func wholeValue(at path: Path, _ time: Int64, now: Int64) throws(Refusal) -> CanonicalJSON {
        guard definitions.contains(where: { KeptPlaces($0.pattern).contains(path) }) else { throw .notKept }
        return try value(at: path, time, now: now)
    }

    /// The deepest places where two values differ, as a JSON array.
    func differences(at path: Path, _ start: Int64, _ end: Int64, now: Int64) throws(Refusal) -> CanonicalJSON {
        let found = ValueDifferences(
            from: try value(at: path, start, now: now), to: try value(at: path, end, now: now), limit: .max)
        var text = [UInt8(ascii: "[")]
        for (index, difference) in found.places.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            difference.append(to: &text)
        }
        // It is made of canonical values.
        return (try? CanonicalJSON.parse(text + [UInt8(ascii: "]")], limits: Self.differenceLimits).value) ?? .null
    }

    /// Each value is in an object, and that in the array.
    static let differenceLimits = CanonicalJSON.Limits(depth: Path.maximumDepth + 2)

    private func tree(of kept: KeptPlaces, edge: Int64?, _ time: Int64) throws(Refusal) -> CanonicalJSON {
        let first = edge.flatMap { edge in moments.last { $0.time < edge } } ?? moments[0]
        if time < first.time { throw .tooOld(first.time) }
        let rows = TreeRows(store: EmptyRowStore())
        do throws(StorageError) {
            for change in moments.prefix(while: { $0.time <= time }).flatMap(\.changes).compactMap(kept.part) {
                if change.target.isPriority {
                    _ = try rows.setPriority(change.value, at: change.target.path)
                } else {
                    try rows.set(change.value, at: change.target.path)
                }
            }
        } catch {
            // A store in memory can always be read.
            return .null
        }
        return (try? rows.read(.root)) ?? .null
    }
}
