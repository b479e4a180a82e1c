import HearthJSONTree
import HearthWireProtocol

extension DatabaseCore {
    /// - parameter keeper: the number of an observer.
    func begin(_ transaction: Transaction, keeper: Int) {
        transaction.keeper = keeper
        transactions[keeper] = transaction
        let observer = Observer(
            onEvent: { _ in }, onCancel: { [weak self] in self?.finish(transaction, .failure($0)) })
        observe(keeper, DatabasePlace(path: transaction.path), .everything, [], observer)
        // A closed database has ended it.
        if transactions[keeper] != nil { run(transaction) }
    }

    /// The value may be known now.
    func transactionsMayBegin() {
        guard transactions.contains(where: { $0.value.write == nil }) else { return }
        for (_, transaction) in transactions.sorted(by: { $0.key < $1.key }) where transaction.write == nil {
            run(transaction)
        }
    }

    /// Computes the change from the known value, after a failed attempt or for the first one. Earlier transactions are
    /// part of the value, so that many can be under way at once. Later ones were computed from the failed change, and
    /// will be again: they are not part of it.
    private func run(_ transaction: Transaction) {
        let failed = transaction.write
        let later = Set(transactions.values.filter { $0.keeper >= transaction.keeper }.compactMap(\.write))
        let input = tree.localValue(at: transaction.path, without: later)
        guard input.extent == .all else { return takeBack(transaction) }
        let change: WireAssignment
        switch transaction.change(input.node) {
        case .success(let assignment?): change = assignment
        case .success(nil): return finish(transaction, .success((false, input.node)))
        case .failure(let error): return finish(transaction, .failure(error))
        }
        let number = outgoing.makeNumber()
        transaction.write = number
        let estimate = estimated(change) { input.node.value(at: $0) }
        let write = PendingWrite(id: number, assignments: [estimate], isVisible: transaction.isVisible)
        perform(tree.write(write, replacing: failed))
        let request = ClientRequest.put(change, hash: NodeHash.hash(input.node.canonical))
        outgoing.add(request, .transaction, number: number) { [self] in settled(transaction, write, $0) }
    }

    private func settled(
        _ transaction: Transaction, _ write: PendingWrite, _ result: Result<ServerResponse, DatabaseError>
    ) {
        switch result {
        case .success:
            transaction.write = nil
            perform(tree.acknowledge(write.id))
            // The value that is known now may include later transactions, which have outcomes of their own.
            finish(transaction, .success((true, write.assignments[0].value)))
        case .failure(.refused(status: "datastale", _)):
            transaction.attempts += 1
            if transaction.isOverridden {
                finish(transaction, .failure(.overridden))
            } else if transaction.attempts < Transaction.attemptsMax {
                run(transaction)
            } else {
                finish(transaction, .failure(.tooManyRetries))
            }
        case .failure(let error): finish(transaction, .failure(error))
        }
    }

    func finish(_ transaction: Transaction, _ outcome: Transaction.Outcome) {
        guard transactions.removeValue(forKey: transaction.keeper) != nil else { return }
        takeBack(transaction)
        removeObserver(transaction.keeper)
        transaction.completion(outcome)
        flushes.settled(.transaction(transaction.keeper))
    }

    /// Rolls back the pending write, if there is one.
    private func takeBack(_ transaction: Transaction) {
        guard let write = transaction.write else { return }
        transaction.write = nil
        outgoing.drop(write)
        perform(tree.removeWrite(write))
    }

    /// A plain write overrides the transactions at its places, above and below. They end, unless the server already
    /// received them and lets them take effect.
    func overrideTransactions(at paths: [Path]) {
        let overlapping = transactions.values.filter { transaction in
            paths.contains { $0.contains(transaction.path) || transaction.path.contains($0) }
        }
        for transaction in overlapping.sorted(by: { $0.keeper < $1.keeper }) {
            guard let write = transaction.write else { continue }
            if outgoing.isSent(write) {
                transaction.isOverridden = true
            } else {
                finish(transaction, .failure(.overridden))
            }
        }
    }
}
