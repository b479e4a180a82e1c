import HearthJSONTree
import HearthTreeText
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

/// Counts, sums, averages and extremes of the children that queries select (Protocol.md 18.3), once and kept up to
/// date.
extension Database {
    /// Whether an index has more of a query's selection than can be counted at once. Twice as many entries are as quick
    /// as children.
    func isLongAggregate(_ query: Query, at path: Path) -> Bool {
        guard query.conditions?.aggregates != nil, let plan = indexes.plan(for: query, at: path) else { return false }
        let interval = KeyRange(lower: query.lower, upper: query.upper)
        let first = try? indexes.firstPlaces(plan, at: path, in: interval, countMax: 2 * scannedAtOnceMax)
        return first?.isMore == true
    }

    /// The present figures of a query. `found` is the result of a scan.
    func aggregate(
        _ asked: ConditionQuery, _ query: Query, at path: Path, found: QueryScan?
    ) throws(Failure) -> CanonicalJSON {
        let live = LiveQuery(path: path, query: query)
        live.spare = found
        do throws(StorageError) {
            let isServed = indexes.plan(for: query, at: path)?.isExact == true
            if found == nil, !isServed { live.spare = try finishedScan(query, at: path) }
        } catch {
            throw .unavailable(error)
        }
        var looked = Looked(places: [], examined: live.spare?.visitedCount ?? 0, index: live.spare?.index)
        try recount(live) { () throws(Failure) in
            looked = try look(for: query, at: path, nil, count: nil)
            return looked.places[...]
        }
        guard asked.isExplained else { return live.told }
        var figures = live.told.setting(CanonicalJSON(trusted: looked.explanation), at: Path(child: "explain"))
        if let needs = neededIndex(for: query, at: path) {
            figures = figures.setting(CanonicalJSON(string: needs), at: Path(child: "needs"))
        }
        return figures
    }

    /// Counts the selection of a live query again. `places` gives all of its places, if no scan has found them.
    func recount<Problem: Error>(
        _ live: LiveQuery, _ places: () throws(Problem) -> ArraySlice<IndexPlace>
    ) throws(Problem) {
        guard let asked = live.query.conditions, let aggregates = live.aggregates else { return }
        if let found = live.spare {
            live.totals = found.totals
            if aggregates.needsOrder { live.window.fill(found.next(count: nil) ?? []) }
        } else {
            let places = try places()
            live.totals = AggregateTotals()
            for place in places { live.totals.add(asked.number(in: place)) }
            live.window.fill(places)
        }
        live.told = value(of: live, asked, aggregates)
    }

    /// Applies a commit's changes of children to the totals of a live query. Nil if the figures are the same as before.
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
    /// The new figures, as a change of the place.
    var toldChange: Change { .set(Assignment(target: WriteTarget(path: path), value: told)) }
}
