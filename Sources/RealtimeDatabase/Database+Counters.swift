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

    /// The assignments of a write, with the totals that it changes. Clients cannot write totals: where a write would
    /// replace one, the right total stays. A sum that `mayOverflow` is kept, though no double shows it.
    func keepingTotals(
        _ assignments: [Assignment], by principal: Principal, mayOverflow: Bool = false
    ) throws(Failure) -> [Assignment] {
        var written = assignments
        if let path = indexes.settings.keptPath(amongTargetsOf: assignments) {
            guard principal.isAdministrator else {
                let text = DatabaseSettings.refusalText(ofKept: path)
                throw .refusedBySetting(why: StaticText("counter"), text)
            }
            written.removeAll { indexes.settings.keptPath(amongTargetsOf: [$0]) != nil }
        }
        return try indexes.totals(after: written, isChecked: !mayOverflow, in: rows).assignments
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

    // MARK: Counting earlier data

    /// Some totals are not known yet.
    package var isCounting: Bool { ownedElsewhere == nil && indexes.isCounting }

    /// Counts up to so many children of collections whose totals are not known, and writes the totals of those that are
    /// done as one commit, whose record must go to the log. Costs about one row per child.
    package func countSome(childrenMax: Int = 200, now: Int64) throws(StorageError) -> LogRecord? {
        precondition(telling == nil, "the last commit is not told yet")
        guard isCounting, refusal == nil, tornBy == nil else { return nil }
        return try write(indexes.countSome(childrenMax: childrenMax, in: rows), now: now)
    }

    private func write(_ totals: [DerivedValue], now: Int64) throws(StorageError) -> LogRecord? {
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: now), outputs: [], principal: .server)
        do throws(Failure) {
            var assignments: [Assignment] = []
            for total in totals {
                let isThere = try Failure.reading { () throws(RuleTreeError) in try total.isThere(in: rows) }
                if isThere { continue }
                assignments.append(Assignment(target: WriteTarget(path: total.target), value: total.value))
            }
            if assignments.isEmpty { return nil }
            // A place that goes with its total can be counted itself.
            assignments = try indexes.totals(after: assignments, isChecked: true, in: rows).assignments
            try commit(Change(assignments), nil, in: &turn)
        } catch {
            // Torn: memory is built again, and the counting begins again.
            if tornBy != nil { return nil }
            // Else what was counted would be taken for written.
            indexes.forgetTotals()
            if case .unavailable(let error) = error { throw error }
            return nil
        }
        keepRest(of: &turn)
        log.append(
            WaitingTurn(
                requests: [], now: now, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes,
                recordBytes: turn.record.byteCount), turn.record)
        return turn.record
    }

    package func counterStatus() -> [CounterStatus] {
        indexes.catalog.counters.map {
            CounterStatus(definition: $0.definition, state: $0.isComplete ? .kept : .counting)
        }
    }
}
