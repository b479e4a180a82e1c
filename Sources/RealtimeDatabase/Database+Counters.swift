import HearthJSONTree
package import HearthSecurityRules
package import HearthStorageErrors

/// Whether the totals of a counter are right.
package struct CounterStatus: Sendable {
    package enum State: String, Sendable {
        /// Older children are being counted. Totals that are not counted yet are missing, or have their former values.
        case counting
        /// All totals are right.
        case kept
    }

    package var definition: CounterDefinition
    package var state: State
}

extension Database {
    // MARK: Writing

    /// What a write assigns, with the totals that it changes. Nobody else can write those: where a write would replace
    /// one, the right one stays in its place.
    func keepingTotals(
        _ assignments: [Assignment], by principal: Principal
    ) throws(Failure) -> [Assignment] {
        var written = assignments
        if let path = settings.keptPath(amongTargetsOf: assignments) {
            guard principal.isAdministrator else {
                let text = DatabaseSettings.refusalText(ofKept: path)
                throw .refusedBySetting(why: StaticText("counter"), text)
            }
            written.removeAll { settings.keptPath(amongTargetsOf: [$0]) != nil }
        }
        return try totals(after: written, counting: true).added(to: written)
    }

    /// Whether a write leaves all totals as they must be.
    func keepsTotals(_ assignments: [Assignment]) -> Bool {
        ((try? totals(after: assignments, counting: false)) ?? []).isEmpty
    }

    /// The totals that a write must change and does not. `counting` if it is about to be made: then the collection that
    /// is being counted takes part in it.
    func totals(
        after assignments: [Assignment], counting: Bool
    ) throws(Failure) -> [DerivedValue] {
        var kept = KeptTotals(catalog.counters, rows, assignments, counterBuild)
        let changed = try Self.reading { () throws(RuleTreeError) in try kept.changedTotals() }
        if let total = changed.first(where: { $0.value == nil }) {
            let text = "The sum at \"\(total.target)\" would be larger than any number"
            throw .refusedBySetting(why: StaticText("sum"), text)
        }
        if counting, counterBuild != nil {
            counterBuild?.add(kept.partialChange)
            for assignment in assignments where !assignment.target.isPriority {
                counterBuild?.replace(assignment.target.path)
            }
        }
        return changed
    }

    /// The same place as it is.
    func unchanged(_ assignment: Assignment) throws(Failure) -> Assignment {
        do throws(TreeRows.ReadError) {
            let value = try rows.read(assignment.target.path, bytesMax: comparedBytesMax)
            return Assignment(target: WriteTarget(path: assignment.target.path), value: value)
        } catch {
            switch error {
            case .storage(let error): throw .unavailable(error)
            case .tooLarge: throw .tooLarge
            }
        }
    }

    // MARK: Counting what was there before

    /// Some totals are not known yet.
    package var isCounting: Bool { ownedElsewhere == nil && catalog.counters.contains { !$0.isComplete } }

    /// Counts up to so many children of collections whose totals are not known, and writes the totals of those that are
    /// done as one commit, whose record must go to the log. Costs about one row per child.
    package func countSome(childrenMax: Int = 200, now: Int64) throws(StorageError) -> LogRecord? {
        precondition(telling == nil, "the last commit is not told yet")
        guard isCounting, refusal == nil, tornBy == nil, let counter = catalog.counters.first(where: { !$0.isComplete })
        else {
            return nil
        }
        var build = counterBuild ?? CounterBuild(counter.definition)
        if build.definition != counter.definition { build = CounterBuild(counter.definition) }
        var left = childrenMax
        var totals: [DerivedValue] = []
        let isDone = try build.step(rows, childrenLeft: &left) { collection, total in
            let end = collection.encoded.count - counter.definition.collection.encoded.count
            let target = collection.prefix(bytes: end).appending(counter.definition.target)
            totals.append(DerivedValue(target: target, value: total.value ?? .null))
        }
        counterBuild = isDone ? nil : build
        if isDone {
            catalog.complete(counter.definition)
            catalogChanged = true
        }
        return try write(totals, now: now)
    }

    private func write(_ totals: [DerivedValue], now: Int64) throws(StorageError) -> LogRecord? {
        var assignments: [Assignment] = []
        let kept = KeptTotals([], rows, [], nil)
        do throws(RuleTreeError) {
            for total in totals where try !kept.isThere(total) {
                assignments.append(Assignment(target: WriteTarget(path: total.target), value: total.value ?? .null))
            }
        } catch {
            throw error.storageError
        }
        if assignments.isEmpty { return nil }
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: now), outputs: [], principal: .server)
        do throws(Failure) {
            // A place that goes with its total can be counted itself.
            assignments = try self.totals(after: assignments, counting: true).added(to: assignments)
            try commit(Change(assignments), nil, in: &turn)
        } catch {
            // Torn: memory is built anew, and the counting begins again.
            return nil
        }
        keepRest(of: &turn)
        pending.append(
            WaitingTurn(
                requests: [], now: now, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes,
                recordBytes: turn.record.byteCount))
        recent.append(turn.record)
        return turn.record
    }

    package func counterStatus() -> [CounterStatus] {
        catalog.counters.map { CounterStatus(definition: $0.definition, state: $0.isComplete ? .kept : .counting) }
    }
}
