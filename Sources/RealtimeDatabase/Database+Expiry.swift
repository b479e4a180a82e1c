import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors

/// Children that expire (docs/using/additions.md 5). The entries of an expiry say when; an entry may be out of date,
/// because its child has gone with what was above it, or was replaced: the child itself decides.
extension Database {
    /// Children that one commit removes because they have expired.
    static let expiredMax = 200

    // MARK: Writing

    /// Changes rows by `body`, which is all of an assignment, and the entries of the children that it touches.
    func keepingTimes(_ assignment: Assignment, _ body: () throws(StorageError) -> Void) throws(StorageError) {
        let path = assignment.target.path
        if assignment.target.isPriority { return try body() }
        var touched: [(expiry: IndexCatalog.Expiry, child: [UInt8], before: Int64?)] = []
        var replaced: [(expiry: IndexCatalog.Expiry, collection: Path)] = []
        for expiry in catalog.expiries {
            expiry.definition.pattern.forEachPlace(concernedBy: assignment) { collection, isInValue in
                if isInValue || path == collection {
                    replaced.append((expiry, collection))
                } else {
                    let end = path.segmentEnd(from: collection.encoded.count)
                    touched.append((expiry, Array(path.encoded[..<end]), nil))
                }
            }
        }
        for place in touched.indices {
            touched[place].before = try time(of: touched[place].child, touched[place].expiry)
        }
        try body()
        for (expiry, child, before) in touched {
            let after = try time(of: child, expiry)
            if before == after { continue }
            if let before { entries.set(expiry.key(before, child), isPresent: false, generation: rows.generation) }
            if let after { addExpiry(expiry, after, child) }
        }
        for (expiry, collection) in replaced {
            let value = assignment.value
            guard let relative = collection.suffix(after: path), let range = value.range(of: relative) else { continue }
            for child in value.children(in: range) {
                guard let time = expiry.definition.time(of: value, in: child.value) else { continue }
                var encoded = collection.encoded
                child.appendSegment(to: &encoded)
                addExpiry(expiry, time, encoded)
            }
        }
    }

    private func addExpiry(_ expiry: IndexCatalog.Expiry, _ time: Int64, _ child: [UInt8]) {
        entries.set(expiry.key(time, child), isPresent: true, generation: rows.generation)
        nextExpiry = min(nextExpiry, time)
    }

    private func time(of child: [UInt8], _ expiry: IndexCatalog.Expiry) throws(StorageError) -> Int64? {
        do throws(RuleTreeError) {
            return try expiry.definition.time(ofChildAt: child, in: rows)
        } catch {
            throw error.storageError
        }
    }

    // MARK: Expiring

    /// Perhaps there are children to be removed.
    package func hasExpired(at now: Int64) -> Bool { ownedElsewhere == nil && now >= nextExpiry }

    /// Removes children whose time has come, the oldest first, as one commit.
    func expireSome(in turn: inout Turn) {
        guard ownedElsewhere == nil, refusal == nil, tornBy == nil, telling == nil else { return }
        let now = turn.record.time
        do throws(StorageError) {
            var keys: [(expiry: IndexCatalog.Expiry, key: [UInt8])] = []
            var next = Int64.max
            for expiry in catalog.expiries {
                try entries.scan(from: expiry.prefix, below: expiry.end, .ascending) { key in
                    let time = expiry.time(ofKey: key)
                    if time > now || keys.count >= Self.expiredMax {
                        next = min(next, time)
                        return false
                    }
                    keys.append((expiry, key))
                    return true
                }
            }
            var children: [Path] = []
            for (expiry, key) in keys {
                let child = expiry.child(ofKey: key)
                if let time = try time(of: child.encoded, expiry), time <= now {
                    children.append(child)
                } else {
                    entries.set(key, isPresent: false, generation: rows.generation)
                }
            }
            nextExpiry = next
            remove(children, in: &turn)
        } catch {
            // It is tried again when a second has passed.
            nextExpiry = now + 1000
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
        var children: [Path] = []
        let read = Assignment(target: WriteTarget(path: path), value: .null)
        for expiry in catalog.expiries {
            expiry.definition.pattern.forEachPlace(concernedBy: read) { collection, _ in
                if path == collection { return }
                let child = path.prefix(bytes: path.segmentEnd(from: collection.encoded.count))
                if let time = try? time(of: child.encoded, expiry), time <= turn.record.time { children.append(child) }
            }
        }
        remove(children, in: &turn)
    }

    /// A value that was read at a path, without the children whose time has come and whose turn to be removed has not.
    /// Costs nothing unless there are such children anywhere, otherwise about the length of the text.
    func withoutExpired(_ value: CanonicalJSON, at path: Path, now: Int64) -> CanonicalJSON {
        guard now >= nextExpiry, ownedElsewhere == nil, refusal == nil else { return value }
        var expired: Set<Path> = []
        let read = Assignment(target: WriteTarget(path: path), value: value)
        for expiry in catalog.expiries {
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

    private func remove(_ children: [Path], in turn: inout Turn) {
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
            // A total that is too large, or torn, in which case memory is built anew.
            nextExpiry = turn.record.time + 1000
        }
    }

    // MARK: Children that were there before

    var unfinishedExpiry: IndexCatalog.Expiry? { catalog.expiries.first { !$0.isComplete } }

    /// Adds entries of children that were there before a setting.
    func buildExpiries(childrenLeft left: inout Int) throws(StorageError) {
        while left > 0, let expiry = unfinishedExpiry, refusal == nil, tornBy == nil {
            var build = expiryBuild ?? ExpiryBuild(expiry)
            if build.expiry.number != expiry.number { build = ExpiryBuild(expiry) }
            let isDone = try build.walk.step(rows, childrenLeft: &left) { (collection, child) throws(StorageError) in
                let path = collection.encoded + child.segment
                let time =
                    if let value = child.value {
                        expiry.definition.time(of: value, in: value.range)
                    } else {
                        try time(of: path, expiry)
                    }
                if let time { addExpiry(expiry, time, path) }
            }
            expiryBuild = isDone ? nil : build
            if isDone {
                catalog.completeExpiry(expiry.number)
                catalogChanged = true
            }
        }
    }
}
