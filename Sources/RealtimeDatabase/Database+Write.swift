import HearthJSONTree
import HearthSecurityRules
import HearthTreeText
import HearthStorageErrors

extension Database {
    /// Sets one place, after its precondition. Answers the stored value; nil if the request is refused and its answer
    /// waits (``TransactionTurns``).
    func set(
        _ target: WriteTarget, _ value: IncomingValue, expecting: [UInt8]?, for request: Request, in turn: inout Turn
    ) throws(Failure) -> CanonicalJSON? {
        try checkWritable()
        let stored = try resolve(value, at: target, now: turn.record.time)
        let assignment = Assignment(target: target, value: stored)
        // Made when it is asked for: it takes memory.
        var write: RuleOperation { .write([assignment]) }
        let mayWrite = isOpen ? true : try mayWrite(write, in: turn)
        if let expecting {
            // Whether it holds is nothing for those who may neither do this nor read here.
            if !mayWrite, try !isAllowed(.read(target.path), in: turn) { throw denial(of: write, in: turn) }
            // A place with much below it need not be read to know that it is not empty.
            let isEmpty = expecting.isEmpty ? try !exists(target.path) : false
            var stale: CanonicalJSON?
            if !isEmpty {
                let current = try valueToCompare(at: target.path, now: turn.record.time)
                turn.readBytes += current.bytes.count
                if !NodeHash.matches(expecting, current) { stale = current }
            }
            if mayWrite {
                switch verdict(on: request, at: target.path, isStale: stale != nil, now: turn.record.time) {
                case .commit, .answer: break
                case .wait:
                    // Another node has the session of a forwarded one.
                    if !request.connection.isForwarded { turn.outputs.append(.hold(request.connection)) }
                    return nil
                }
            }
            if let stale { throw .stale(stale) }
        }
        if !mayWrite { throw denial(of: write, in: turn) }
        if target.isPriority, try !exists(target.path) { throw .nothingThere }
        let isConcern = indexes.areConcerned(by: target.path)
        let charges = isConcern ? try checkRate(of: [assignment], in: turn) : []
        turn.record.storedValue = value.stored
        var kept = stored
        if isConcern, hasDerivedValues {
            let assignments = try derived([assignment], value.rows, by: turn.principal)
            try commit(Change(assignments), value.rows, in: &turn)
            kept = assignments.first { $0.target == target }?.value ?? stored
        } else {
            if isConcern { try checkUnique([assignment], value.rows) }
            if tree.hasDamage { try checkReadable([assignment]) }
            if listeners.trie.isEmpty, outbox.triggers.isEmpty || !outbox.isConcerned(by: target.path) {
                if isLarge(assignment) {
                    try apply([assignment], value.rows)
                } else {
                    try applySmall(assignment, isConcern: isConcern)
                }
                turn.record.append(assignment, uid: turn.principal.uid)
                log.advance(at: turn.record.time)
            } else {
                try commit(.set(assignment), value.rows, in: &turn)
            }
        }
        rates.add(charges, now: turn.record.time)
        if expecting != nil { passTurn(after: request, at: target.path, in: &turn) }
        return kept
    }

    /// Sets several places as one commit: either all of them or none.
    ///
    /// - parameter isCounted: whether it uses up rates; if not, it has done so before.
    func update(
        _ base: Path, _ entries: [(target: WriteTarget, value: IncomingValue)], isCounted: Bool = true,
        in turn: inout Turn
    ) throws(Failure) {
        try checkWritable()
        guard !entries.isEmpty else { return }
        var assignments: [Assignment] = []
        assignments.reserveCapacity(entries.count)
        for (target, value) in entries where !target.isPriority {
            assignments.append(Assignment(target: target, value: try resolve(value, at: target, now: turn.record.time)))
        }
        var isPossible = true
        // Priorities come last: they may belong to nodes that the update itself makes.
        let made = entries.contains { $0.target.isPriority } ? Self.placesMade(by: assignments) : []
        for (target, value) in entries where target.isPriority {
            // In path order, the paths at or below a place come first from there on.
            let next = made.partitioningIndex { $0 >= target.path }
            let isMade = next < made.count && target.path.contains(made[next])
            if !value.json.isNull, !isMade, try !exists(target.path) { isPossible = false }
            assignments.append(Assignment(target: target, value: try resolve(value, at: target, now: turn.record.time)))
        }
        if try !mayWrite(.write(assignments), in: turn) { throw denial(of: .write(assignments), in: turn) }
        guard isPossible else { throw .nothingThere }
        let isConcern = assignments.contains { indexes.areConcerned(by: $0.target.path) }
        let charges = isConcern && isCounted ? try checkRate(of: assignments, in: turn) : []
        let rows = entries.lazy.compactMap(\.value.rows).first
        turn.record.storedValue = entries.lazy.compactMap(\.value.stored).first
        if isConcern, hasDerivedValues {
            let derived = try derived(assignments, rows, by: turn.principal)
            try commit(.merge(base: Change.base(of: derived, atOrAbove: base), derived), rows, in: &turn)
        } else {
            if isConcern { try checkUnique(assignments, rows) }
            try commit(.merge(base: base, assignments), rows, in: &turn)
        }
        rates.add(charges, now: turn.record.time)
    }

    /// Sets very many children of one place as one commit, given as one text. Where more than rules has to look at each
    /// of them, or where the text has to be changed, it is an update like any other.
    func setChildren(of base: Path, _ children: IncomingValue, in turn: inout Turn) throws(Failure) {
        guard !children.hasServerValues, children.rows != nil, mayAttach(childrenOf: base),
            isIndifferent(toChildrenOf: base, by: turn.principal)
        else { return try update(base, children.entries(of: base), in: &turn) }
        try checkWritable()
        let write = RuleOperation.writeChildren(of: base, children.json)
        if try !mayWrite(write, in: turn) { throw denial(of: write, in: turn) }
        turn.record.storedValue = children.stored
        try commit(.setChildren(of: base, children.json), children.rows, in: &turn)
    }

    /// Whether children of a place may come into the tree as one text, once the rows have room for it.
    func mayBeText(_ children: IncomingValue, of base: Path, by principal: Principal) -> Bool {
        children.json.isLarge(largeBytesMin, rows.packing) && children.json.hasAnyChild
            && isUnobserved(childrenOf: base) && isIndifferent(toChildrenOf: base, by: principal)
    }

    /// Whether no setting asks what each of the children of a place is before they are written.
    private func isIndifferent(toChildrenOf base: Path, by principal: Principal) -> Bool {
        let isLimited = !principal.isAdministrator && indexes.settings.rateLimits.contains { $0.pattern.concerns(base) }
        return !isLimited && !indexes.catalog.queues.contains { $0.definition.pattern.concerns(base) }
            && !indexes.catalog.counters.contains { $0.definition.pattern.concerns(base) }
    }

    private func mayAttach(childrenOf base: Path) -> Bool {
        rows.canAttach(childrenOf: base) && isUnobserved(childrenOf: base)
    }

    /// Whether children of a place can come into the tree as text: nothing has to be kept up for each of them, and no
    /// query without a limit has to be told of each.
    private func isUnobserved(childrenOf base: Path) -> Bool {
        !indexes.trie.hasCollections(atOrBelow: base)
            && !indexes.settings.childLimits.contains { $0.pattern.concerns(base) }
            && !indexes.catalog.expiries.contains { $0.definition.pattern.concerns(base) }
            && !indexes.catalog.queues.contains { $0.definition.pattern.concerns(base) }
            && !indexes.catalog.counters.contains { $0.definition.pattern.concerns(base) }
            && listeners.trie.queries(at: base).allSatisfy { $0.query.limit != nil }
    }

    /// The answer to a write that asks for the stored value. The result of an increment reveals the earlier value, and
    /// a total in the stored value tells of other data, so a client that may not read gets the value that it sent.
    func echo(
        of value: IncomingValue, _ stored: CanonicalJSON, at path: Path, in turn: borrowing Turn
    ) -> CanonicalJSON {
        let isPlain = !value.hasServerValues && value.sent == nil
        if isPlain, stored.isSameText(as: value.json) || stored == value.json { return stored }
        return (try? isAllowed(.read(path), in: turn)) == true ? stored : value.sent ?? value.json
    }

    /// A precondition tells users who may write whether it holds, but the value only to those who may read it. A
    /// realtime client of another node is told only that it does not hold: the value would go there for nothing.
    func hiding(
        _ failure: Failure, at path: Path, from connection: ConnectionID, in turn: borrowing Turn
    ) -> Failure {
        guard case .stale = failure else { return failure }
        if connection.kind == .realtime { return connection.isForwarded ? .stale(.null) : failure }
        do throws(Failure) {
            try checkAllowed(.read(path), in: turn)
            return failure
        } catch {
            return error
        }
    }

    /// Performs a change, and writes it into the turn's record.
    func commit(_ change: Change, _ rows: PreparedRows?, in turn: inout Turn) throws(Failure) {
        let change = change.inOrder
        if tree.hasDamage { try checkReadable(change.assignments) }
        let makesEvents = outbox.isConcerned(by: change.base) && turn.principal.firesTriggers
        let events = makesEvents ? try events(of: change, in: turn) : []
        try perform(change, rows, in: &turn)
        turn.record.append(change, uid: turn.principal.uid)
        log.advance(at: turn.record.time)
        append(events: events, to: &turn)
    }

    /// Applies the change that gets the next sequence number, and tells the listeners.
    func perform(_ change: Change, _ rows: PreparedRows? = nil, in turn: inout Turn) throws(Failure) {
        // A turn may make several commits, of which each is told as a whole.
        if telling != nil { try tellOn(in: &turn, costMax: .max) }
        var (change, rows) = (change, rows)
        if case .setChildren(of: let base, let text) = change {
            if mayAttach(childrenOf: base) {
                rows = rows ?? PreparedRows(childrenIn: text, self.rows.packing)
            } else {
                change = .merge(base: base, change.assignments)
            }
        }
        let places = concernedPlaces(by: change, rows)
        try apply(change, rows)
        if listeners.trie.isEmpty { return }
        let outputs = turn.outputs.count
        do throws(Failure) {
            var telling = Telling(
                change, judging: listeners.dependencies.listeners(concernedBy: change), places,
                at: log.nextPosition(at: turn.record.time))
            try tell(&telling, in: &turn, costMax: tellingStepCostMax)
            if !telling.isDone {
                telling.outputCount = turn.outputs.count
                self.telling = telling
            }
        } catch {
            // Members of groups stay where they were moved.
            let moves = turn.outputs[outputs...].filter(\.changesMembership)
            turn.outputs.replaceSubrange(outputs..., with: moves)
            throw error
        }
    }

    /// The places that get a value, in path order.
    private static func placesMade(by assignments: [Assignment]) -> [Path] {
        assignments.filter { !$0.value.isNull }.map(\.target.path).sorted()
    }

    /// Puts a change into the tree. `prepared` are rows that were made beforehand, if there are any.
    func apply(_ change: Change, _ prepared: PreparedRows? = nil) throws(Failure) {
        if case .setChildren(of: let base, let text) = change, mayAttach(childrenOf: base) {
            try attach(prepared ?? PreparedRows(childrenIn: text, rows.packing), childrenOf: base)
        } else {
            try apply(change.assignments, prepared)
        }
    }

    /// Has the children in a text come into the tree as text, as a large value does.
    private func attach(_ prepared: PreparedRows, childrenOf base: Path) throws(Failure) {
        // For all that is not in the text, it is as if the place itself were written.
        let concerned = Assignment(target: WriteTarget(path: base), value: .null)
        pendingWrite.note([concerned])
        do throws(StorageError) {
            freeze()
            try indexes.keeping(concerned, in: rows) { () throws(StorageError) in
                try rows.attach(prepared, childrenOf: base)
            }
        } catch {
            tree.tear(by: error)
            throw .unavailable(error)
        }
    }

    /// Puts the assignments of one operation into the tree. The priority of a node that is not there (any more) has no
    /// effect. `prepared` are the rows of the first large value among them, if they were made beforehand.
    func apply(_ assignments: [Assignment], _ prepared: PreparedRows? = nil) throws(Failure) {
        pendingWrite.note(assignments)
        do throws(StorageError) {
            let written = try indexes.changes(with: assignments, in: rows)
            let large = assignments.firstIndex { isLarge($0) }
            if let large {
                // The store must be able to stop right before the operation that brings a large value, and what else
                // the operation changes comes after that value.
                freeze()
                let assignment = assignments[large]
                let isPrepared = prepared?.value.isSameText(as: assignment.value) == true
                let made = isPrepared ? prepared : nil
                let entries = indexes.preparedEntries(for: assignment, made)
                try indexes.keeping(assignment, entries, in: rows) { () throws(StorageError) in
                    try rows.attach(
                        made ?? PreparedRows(assignment.value, rows.packing), entries, at: assignment.target.path)
                }
            }
            for (index, assignment) in assignments.enumerated() where index != large { try change(assignment) }
            if let written { try indexes.keep(written, generation: rows.generation) }
        } catch {
            tree.tear(by: error)
            throw .unavailable(error)
        }
    }

    /// The same for one assignment of a value that is not large and changes no sum.
    ///
    /// - parameter isConcern: whether an index or a setting has to do with it.
    private func applySmall(_ assignment: Assignment, isConcern: Bool) throws(Failure) {
        // An array for nothing would take memory at each set.
        if pendingWrite.isThere { pendingWrite.note([assignment]) }
        do throws(StorageError) {
            if isConcern { try change(assignment) } else { try changeRows(assignment) }
        } catch {
            tree.tear(by: error)
            throw .unavailable(error)
        }
    }

    private func change(_ assignment: Assignment) throws(StorageError) {
        try indexes.keeping(assignment, in: rows) { () throws(StorageError) in try changeRows(assignment) }
    }

    private func changeRows(_ assignment: Assignment) throws(StorageError) {
        if assignment.target.isPriority {
            _ = try rows.setPriority(assignment.value, at: assignment.target.path)
        } else {
            try rows.set(assignment.value, at: assignment.target.path)
        }
    }

    /// Whether a value stays text until the store has its rows. One at a time does.
    func isLarge(_ assignment: Assignment) -> Bool {
        !assignment.target.isPriority && rows.canAttach && assignment.value.isLarge(largeBytesMin, rows.packing)
    }

    /// Fills in server values. Increments refer to the value before the request at the same place.
    func resolve(_ incoming: IncomingValue, at target: WriteTarget, now: Int64) throws(Failure) -> CanonicalJSON {
        guard incoming.hasServerValues else { return incoming.json }
        var failure: Failure?
        let resolved = incoming.json.resolved(timestamp: now) { relative in
            do throws(Failure) {
                let old = try leaf(at: target.path.appending(relative))
                return target.isPriority ? old.priority : old
            } catch {
                failure = error
                return .null
            }
        }
        if let failure { throw failure }
        return resolved
    }

    func checkWritable() throws(Failure) {
        if let error = tornBy ?? ownedElsewhere ?? refusal { throw .unavailable(error) }
    }

    /// Where a row is damaged, the value that a change replaces is read first. A change that fails midway would have
    /// memory built again, and all other writers would be refused meanwhile. Costs nothing as long as no change has
    /// failed in this way.
    private func checkReadable(_ assignments: [Assignment]) throws(Failure) {
        guard tree.hasDamage else { return }
        for assignment in assignments {
            do throws(TreeRows.ReadError) {
                _ = try rows.read(assignment.target.path, bytesMax: Self.assembledBytesMax)
            } catch .storage(let error) {
                throw .unavailable(error)
            } catch {
                // Too large to be read at once.
            }
        }
    }

    /// Tells listeners of whole values.
    func push(_ part: FanOut.Step, at position: Position, in turn: inout Turn) {
        if let delivery = part.delivery {
            if !delivery.plain.isEmpty { turn.outputs.append(.push(delivery.change, at: nil, to: delivery.plain)) }
            if !delivery.positioned.isEmpty {
                turn.outputs.append(.push(delivery.change, at: position, to: delivery.positioned))
            }
            for address in delivery.plain + delivery.positioned { countTold(delivery.change, to: address, in: turn) }
        }
        for (push, group) in part.streamPushes(at: position) {
            turn.outputs.append(.pushQuery(push, to: group))
            countTold(push, to: group, in: turn)
        }
    }

    /// As a reader sees it.
    private func valueToCompare(at path: Path, now: Int64) throws(Failure) -> CanonicalJSON {
        do throws(TreeRows.ReadError) {
            return withoutExpired(try rows.read(path, bytesMax: comparedBytesMax), at: path, now: now)
        } catch {
            switch error {
            case .storage(let error): throw .unavailable(error)
            case .tooLarge:
                let text = "a write cannot depend on a value of more than \(comparedBytesMax) bytes, and here is one"
                throw .refused(status: StaticText("too_big"), text)
            }
        }
    }

    /// The base value of an increment. Every leaf is in one row; of any other node only the priority matters, which is
    /// returned with a leaf that is not a number. Reads one row.
    func leaf(at path: Path) throws(Failure) -> CanonicalJSON {
        do throws(StorageError) {
            let place = try rows.locate(path)
            let value = place.node.value
            guard place.node.state == .spread else {
                return place.used == path.encoded.count ? value : value.value(at: path.dropFirst(bytes: place.used))
            }
            if value.isNull { return .null }
            return CanonicalJSON(trusted: Array(#"{".priority":"#.utf8) + value.bytes + Array(#",".value":""}"#.utf8))
        } catch {
            throw .unavailable(error)
        }
    }

    func exists(_ path: Path) throws(Failure) -> Bool {
        do throws(StorageError) {
            return try rows.exists(path)
        } catch {
            throw .unavailable(error)
        }
    }
}
