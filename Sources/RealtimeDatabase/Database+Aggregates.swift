import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// Counts, sums, averages and extremes of what queries select (Protocol.md 18.3), once and kept up to date.
extension Database {
    /// So many entries of an index are counted at once. Of more, all children are visited in steps.
    private static let countedAtOnceMax = 2000

    /// Whether an index has more than can be counted at once of what a query selects.
    func isLongAggregate(_ query: Query, at path: Path) -> Bool {
        guard query.conditions?.aggregates != nil else { return false }
        let places = try? places(of: query, at: path, count: Self.countedAtOnceMax + 1)
        return (places?.count ?? 0) > Self.countedAtOnceMax
    }

    /// What a query tells now.
    func aggregate(
        _ asked: ConditionQuery, _ query: Query, at path: Path, found: QueryScan?
    ) throws(Failure) -> CanonicalJSON {
        guard let aggregates = asked.aggregates else { return .null }
        do throws(StorageError) {
            let places =
                if let known = found?.next(count: nil) { known } else {
                    try places(of: query, at: path, count: nil)
                }
            var totals = AggregateTotals()
            var (least, greatest): (JSONNumber?, JSONNumber?)
            for place in places {
                let number = asked.number(in: place)
                totals.add(number)
                guard let number else { continue }
                // They come in the order of the numbers.
                least = least ?? number
                greatest = number
            }
            return totals.value(aggregates, least: least, greatest: greatest)
        } catch {
            throw .unavailable(error)
        }
    }

    /// Counts what a live query selects anew; `places` are all of its places.
    func recount(_ live: LiveQuery, _ places: some Sequence<IndexPlace>) {
        guard let asked = live.query.conditions, let aggregates = live.aggregates else { return }
        live.totals = AggregateTotals()
        for place in places { live.totals.add(asked.number(in: place)) }
        live.told = value(of: live, asked, aggregates)
    }

    /// Takes what a commit did to children into the totals of a live query. Nil if what is told is the same as before.
    func takeIntoTotals(_ changes: [ChildChange], of live: LiveQuery) -> Change? {
        guard let asked = live.query.conditions, let aggregates = live.aggregates else { return nil }
        for change in changes {
            if let before = change.before, live.query.contains(before) { live.totals.remove(asked.number(in: before)) }
            if let after = change.after, live.query.contains(after) { live.totals.add(asked.number(in: after)) }
        }
        let value = value(of: live, asked, aggregates)
        if value == live.told { return nil }
        live.told = value
        return live.toldChange
    }

    private func value(of live: LiveQuery, _ asked: ConditionQuery, _ aggregates: Aggregates) -> CanonicalJSON {
        let numbers = ConditionQuery.numbers
        func extreme(_ direction: ScanDirection) -> JSONNumber? {
            live.window.member(from: numbers.lower, below: numbers.upper, direction).flatMap { asked.number(in: $0) }
        }
        return live.totals.value(aggregates, least: extreme(.ascending), greatest: extreme(.descending))
    }
}

extension LiveQuery {
    /// What is told, as a change of the place.
    var toldChange: Change { .set(Assignment(target: WriteTarget(path: path), value: told)) }
}
