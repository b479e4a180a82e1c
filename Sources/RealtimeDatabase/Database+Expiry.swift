import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// Children that expire (docs/using/additions.md 5). The entries of an expiry hold the times. An entry may be out of
/// date, because its child was removed with a node above it, or was replaced: the child itself decides.
extension Database {
    /// Perhaps there are children to be removed.
    package func hasExpired(at now: Int64) -> Bool { ownedElsewhere == nil && indexes.mayExpire(at: now) }

    /// Removes children whose time has come, the oldest first, as one commit if that is possible.
    func expireSome(in turn: inout Turn) {
        guard ownedElsewhere == nil, refusal == nil, tornBy == nil, telling == nil else { return }
        let now = turn.record.time
        do throws(StorageError) {
            let due = try indexes.takeExpired(at: now, countMax: expiredMax, in: rows)
            let areRemoved = remove(due.children, in: &turn)
            if tornBy == nil, due.areUnreadable || !areRemoved { indexes.passOver(due, now: now) }
        } catch {
            // It is tried again when a second has passed.
            indexes.postponeRemoval(to: now + 1000)
        }
    }

    /// Removes the child that a request is about, if its time has come: it may be one of many. If it cannot be removed,
    /// readers do not see it.
    func expire(before operation: Operation, in turn: inout Turn) {
        switch operation {
        case .get(let path, _, _), .describe(let path, _), .listen(let path, _, _, _),
            .listenQuery(let path, _, _, _, _, _):
            if canRemove { remove(expiredPlaces(at: path, now: turn.record.time), in: &turn) }
        case .set(let target, _, _, _): expire(beforeWritesAt: [target.path], in: &turn)
        case .update(_, let entries): expire(beforeWritesAt: entries.map(\.target.path), in: &turn)
        case .setChildren(let base, _): expire(beforeWritesAt: [base], areBelow: true, in: &turn)
        default: break
        }
    }

    /// Removes the children whose time has come that writes go into, and those that would count for a limit of these
    /// writes.
    ///
    /// - parameter areBelow: the writes go to children of the paths.
    func expire(beforeWritesAt paths: [Path], areBelow: Bool = false, in turn: inout Turn) {
        let now = turn.record.time
        guard now >= indexes.nextExpiry, canRemove else { return }
        let counted = expiredChildren(countedBeforeWritesAt: paths, areBelow: areBelow, now: now)
        remove(paths.flatMap { expiredPlaces(at: $0, now: now) } + counted, in: &turn)
    }

    /// Nothing stands in the way of a commit.
    private var canRemove: Bool {
        ownedElsewhere == nil && heldWrites == .none && refusal == nil && tornBy == nil && telling == nil
    }

    /// Children that have expired, of collections which get others and have a limit or unique values.
    private func expiredChildren(countedBeforeWritesAt paths: [Path], areBelow: Bool, now: Int64) -> [Path] {
        let limited = indexes.settings.childLimits.map(\.pattern) + indexes.settings.uniques.map(\.pattern)
        guard !limited.isEmpty, let expired = expired(at: now) else { return [] }
        var collections: Set<Path> = []
        for pattern in limited {
            for path in paths {
                let write = Assignment(target: WriteTarget(path: path), value: .null)
                pattern.forEachPlace(concernedBy: write) { collection, isInValue in
                    if !isInValue, areBelow || collection != path { collections.insert(collection) }
                }
            }
        }
        collections = collections.filter { expired.times(ofChildrenOf: $0) != nil }
        return collections.isEmpty ? [] : indexes.expiredChildren(of: collections, at: now, in: rows)
    }

    /// The place or those above it, as far as they are children whose time has come. Costs a few rows.
    func expiredPlaces(at path: Path, now: Int64) -> [Path] {
        let expired = ExpiredChildren(definitions: indexes.catalog.expiries.map(\.definition), time: now)
        return expired.places(atOrAbove: path) { child, time in
            (try? rows.hasCome(time, of: child, by: now)) == true
        }
    }

    // MARK: Before they are removed

    /// What readers do not see, because its time has come and its turn to be removed has not. Nil if there is nothing
    /// of that kind, which costs nothing as long as no time has come.
    func expired(at now: Int64) -> ExpiredChildren? {
        guard now >= indexes.nextExpiry, tornBy == nil else { return nil }
        do throws(StorageError) {
            guard try indexes.isExpiryDue(at: now, in: rows) else { return nil }
        } catch {
            // Some may be due: they are looked for.
        }
        return ExpiredChildren(definitions: indexes.catalog.expiries.map(\.definition), time: now)
    }

    /// A value that was read at a path, without the children whose time has come.
    func withoutExpired(_ value: CanonicalJSON, at path: Path, now: Int64) -> CanonicalJSON {
        guard let expired = expired(at: now), !value.isNull else { return value }
        return expiredPlaces(at: path, now: now).isEmpty ? expired.removed(from: value, at: path) : .null
    }

    /// The time at which children must have expired to be hidden by queries. Those that begin within a second hide the
    /// same, and share it.
    func hidingTime(_ now: Int64) -> Int64 { now - now % hidingInterval }

    /// The query that gives a reader what another one selects, without the children whose time has come.
    func unexpired(_ query: Query, at path: Path, now: Int64) -> Query {
        let time = hidingTime(now)
        guard let times = expired(at: time)?.times(ofChildrenOf: path) else { return query }
        hiddenBy = max(hiddenBy ?? time, time)
        return Query(query, in: .unexpired(query.index, times, at: time))
    }

    /// Once all is removed that queries hide, those who listen to them listen to the queries that they asked for.
    func showAll(in turn: inout Turn) {
        guard let time = hiddenBy, telling == nil, tornBy == nil, refusal == nil, indexes.knowsExpiries,
            (try? indexes.isExpiryDue(at: time, in: rows)) == false
        else { return }
        let hiding = listeners.trie.queries.filter(\.query.hidesExpired)
        listeners.show(hiding.map { ($0, Query($0.query, in: $0.query.index.named)) }, &turn.outputs)
        // A request may have yet to use what a scan has found for it.
        if !listeners.trie.queries.contains(where: \.query.hidesExpired) { hiddenBy = nil }
    }

    /// Other settings apply. Children that queries hide may never be removed now, and their listeners would not learn
    /// of them: they end.
    func endHiding(unless areSame: Bool, in turn: inout Turn) {
        guard hiddenBy != nil, !areSame else { return }
        endListeners(of: listeners.trie.queries.filter(\.query.hidesExpired), in: &turn)
        // Those that a request waits for are looked for again.
        for live in listeners.trie.queries where live.query.hidesExpired {
            listeners.trie.rename(live, Query(live.query, in: live.query.index.named))
            live.startOver()
        }
        if !listeners.trie.queries.contains(where: \.query.hidesExpired) { hiddenBy = nil }
    }

    /// Removes children as one commit, or in several if some of them cannot be removed. Answers whether all are gone.
    @discardableResult
    func remove(_ children: [Path], in turn: inout Turn) -> Bool {
        var removals: [Assignment] = []
        for path in children.sorted() where !(removals.last?.target.path.contains(path) ?? false) {
            removals.append(Assignment(target: WriteTarget(path: path), value: .null))
        }
        if removals.isEmpty { return true }
        let principal = turn.principal
        defer { turn.principal = principal }
        turn.principal = .server
        return commit(removals: removals[...], in: &turn)
    }

    /// The same for a part of them, of which none contains another. If a commit fails, its halves are tried: so a few
    /// that cannot be removed take few commits more.
    private func commit(removals: ArraySlice<Assignment>, in turn: inout Turn) -> Bool {
        if tornBy != nil { return false }
        do throws(Failure) {
            var written = Array(removals)
            if hasDerivedValues {
                written = try keepingStates(written, by: .administrator)
                written = try keepingTotals(written, by: .administrator, mayOverflow: true)
            }
            try commit(Change(written), nil, in: &turn)
            return true
        } catch {
            if tornBy != nil {
                // Memory is built again.
                indexes.postponeRemoval(to: turn.record.time + 1000)
                return false
            }
        }
        if removals.count == 1 { return false }
        let middle = removals.startIndex + removals.count / 2
        let isFirstGone = commit(removals: removals[..<middle], in: &turn)
        return commit(removals: removals[middle...], in: &turn) && isFirstGone
    }
}
