import HearthJSONTree

/// Compare-and-sets of several connections at one place take turns (``TransactionTurns``).
extension Database {
    /// Whether a compare-and-set of a connection that may write is committed now.
    ///
    /// - parameter isStale: the value that it compares with is not the present one.
    func verdict(
        on request: Request, at path: Path, isStale: Bool, now: Int64
    ) -> TransactionTurns.Verdict {
        // A REST client receives the present value, which must be durable by then.
        guard takesTurns, request.connection.kind == .realtime else { return isStale ? .answer : .commit }
        return transactions.verdict(
            on: request.connection, number: request.number, at: path, isStale: isStale, now: now)
    }

    /// A compare-and-set was committed: the next connection is answered, after it was told of the change.
    func passTurn(after request: Request, at path: Path, in turn: inout Turn) {
        guard !transactions.isEmpty else { return }
        let next = transactions.committed(by: request.connection, at: path, now: turn.record.time)
        if let next { turn.outputs.append(next.output) }
    }

    /// Before a connection's next request is processed, its earlier ones are answered.
    func answerWaiting(_ connection: ConnectionID, in turn: inout Turn) {
        guard !transactions.isEmpty else { return }
        turn.outputs += transactions.release(connection, now: turn.record.time).map(\.output)
    }

    /// No turn waits for a connection that has ended.
    func passTurns(of connection: ConnectionID, in turn: inout Turn) {
        guard !transactions.isEmpty else { return }
        turn.outputs += transactions.leave(connection, now: turn.record.time).map(\.output)
    }

    /// When the turn of a connection will have lasted too long (``passOverdueTurns(now:)``), in milliseconds since
    /// 1970.
    package var turnDeadline: Int64? { transactions.isEmpty ? nil : transactions.deadline }

    /// Answers connections that have waited for others which did not come back. The output comes from ``takeReady()``.
    package func passOverdueTurns(now: Int64) { say(transactions.passOverdue(now: now), now: now) }

    /// Answers all that wait.
    package func endTurns(now: Int64) { say(transactions.end(), now: now) }

    private func say(_ answers: [TransactionTurns.Waiting], now: Int64) {
        if answers.isEmpty { return }
        log.append(
            WaitingTurn(requests: [], now: now, sequence: sequence, outputs: answers.map(\.output)))
    }
}

extension TransactionTurns.Waiting {
    /// Realtime clients hear of the value as listeners, not with the answer.
    var output: Output { .reply(connection, number: number, .failed(.stale(.null))) }
}
