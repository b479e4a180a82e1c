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

    mutating func add(_ operations: [LogRecord.Operation], at time: Int64) {
        if moments.isEmpty || definitions.isEmpty { return }
        moments.append(Moment(time: time, changes: operations.flatMap(\.assignments)))
    }

    /// What was at a place after the last change that was made by a time. Above places whose history is kept it has
    /// their values alone.
    func value(at path: Path, _ time: Int64, now: Int64) throws(Refusal) -> CanonicalJSON {
        let concerned = definitions.filter { KeptPlaces($0.pattern).concerns(path) }
        if concerned.isEmpty { throw .notKept }
        var value = CanonicalJSON.null
        for definition in concerned {
            let kept = KeptPlaces(definition.pattern)
            let tree = try tree(of: kept, keep: definition.keep, time, now: now)
            if kept.contains(path) { return tree.value(at: path) }
            // The places lie side by side.
            for place in kept.places(in: tree, at: .root) where path.contains(place) {
                value = value.setting(tree.value(at: place), at: place)
            }
        }
        return value.value(at: path)
    }

    private func tree(
        of kept: KeptPlaces, keep: Int64?, _ time: Int64, now: Int64
    ) throws(Refusal) -> CanonicalJSON {
        let rows = TreeRows(store: EmptyRowStore())
        let changed = moments.map { moment in
            Moment(time: moment.time, changes: moment.changes.compactMap(kept.part))
        }.enumerated().filter { $0.offset == 0 || !$0.element.changes.isEmpty }.map(\.element)
        // The last state before the rest is what the rest begins with.
        let edge = keep.flatMap { keep in changed.last { $0.time < now - keep } } ?? changed[0]
        if time < edge.time { throw .tooOld(edge.time) }
        do throws(StorageError) {
            for change in changed.prefix(while: { $0.time <= time }).flatMap(\.changes) {
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
