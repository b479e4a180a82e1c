import HearthJSONTree
import HearthTreeText
import HearthSecurityRules
import HearthStorageErrors

/// Children that expire (docs/using/additions.md 5). The entries of an expiry hold the times. An entry may be out of
/// date, because its child was removed with a node above it, or was replaced: the child itself decides.
extension Database {
    /// Children that one commit removes because they have expired. Requests wait for one such commit at most, which
    /// takes less than a millisecond.
    static let expiredMax = 32

    /// Perhaps there are children to be removed.
    package func hasExpired(at now: Int64) -> Bool { ownedElsewhere == nil && now >= indexes.nextExpiry }

    /// Removes children whose time has come, the oldest first, as one commit.
    func expireSome(in turn: inout Turn) {
        guard ownedElsewhere == nil, refusal == nil, tornBy == nil, telling == nil else { return }
        let now = turn.record.time
        do throws(StorageError) {
            let children = try indexes.takeExpired(at: now, countMax: Self.expiredMax, in: rows)
            remove(children, in: &turn)
        } catch {
            // It is tried again when a second has passed.
            indexes.postponeExpiry(to: now + 1000)
        }
    }

    /// Removes the child that a read is about, if its time has come: it may be one of many.
    func expire(before operation: Operation, in turn: inout Turn) {
        let path: Path
        switch operation {
        case .get(let place, _, _), .describe(let place, _), .listen(let place, _, _, _): path = place
        case .listenQuery(let place, _, _, _, _, _): path = place
        case .set(let target, _, _, _): path = target.path
        default: return
        }
        guard ownedElsewhere == nil, refusal == nil, tornBy == nil, telling == nil else { return }
        remove(expiredPlaces(at: path, now: turn.record.time), in: &turn)
    }

    /// The place or those above it, as far as they are children whose time has come. Costs a few rows.
    func expiredPlaces(at path: Path, now: Int64) -> [Path] {
        var children: [Path] = []
        let read = Assignment(target: WriteTarget(path: path), value: .null)
        for expiry in indexes.catalog.expiries {
            expiry.definition.pattern.forEachPlace(concernedBy: read) { collection, _ in
                if path == collection { return }
                let child = path.prefix(bytes: path.segmentEnd(from: collection.encoded.count))
                if let time = try? IndexKeeper.time(of: child.encoded, expiry, in: rows), time <= now {
                    children.append(child)
                }
            }
        }
        return children
    }

    /// A value that was read at a path, without the children whose time has come and whose turn to be removed has not.
    /// Costs nothing unless there are such children anywhere, otherwise about the length of the text.
    func withoutExpired(_ value: CanonicalJSON, at path: Path, now: Int64) -> CanonicalJSON {
        guard now >= indexes.nextExpiry, ownedElsewhere == nil, refusal == nil else { return value }
        var expired: Set<Path> = []
        let read = Assignment(target: WriteTarget(path: path), value: value)
        for expiry in indexes.catalog.expiries {
            expiry.definition.pattern.forEachPlace(concernedBy: read) { collection, isInValue in
                guard isInValue || path == collection, let relative = collection.suffix(after: path),
                    let range = value.range(of: relative)
                else { return }
                for child in value.children(in: range) {
                    guard let time = expiry.definition.time(of: value, in: child.value), time <= now else { continue }
                    var encoded = relative.encoded
                    child.appendSegment(to: &encoded)
                    expired.insert(Path(encoded: encoded))
                }
            }
        }
        if expired.isEmpty { return value }
        // Where one lies in another, the outer one says it all.
        var edits: [CanonicalJSON.Edit] = []
        for path in expired.sorted() where !(edits.last?.path.contains(path) ?? false) {
            edits.append(CanonicalJSON.Edit(path: path, value: .null))
        }
        return value.setting(edits)
    }

    func remove(_ children: [Path], in turn: inout Turn) {
        var removals: [Assignment] = []
        for path in children.sorted() where !(removals.last?.target.path.contains(path) ?? false) {
            removals.append(Assignment(target: WriteTarget(path: path), value: .null))
        }
        if removals.isEmpty { return }
        turn.principal = .server
        do throws(Failure) {
            if hasDerivedValues {
                removals = try keepingStates(removals, by: .administrator)
                removals = try keepingTotals(removals, by: .administrator)
            }
            try commit(Change(removals), nil, in: &turn)
        } catch {
            // A total that is too large, or torn, in which case memory is built again.
            indexes.postponeExpiry(to: turn.record.time + 1000)
        }
    }
}
