import HearthEtcdMessages
import HearthReplicatedLog

/// The part of etcd that the log uses, without a network: keys with revisions, transactions, leases and changes.
struct SimulatedEngine {
    private(set) var revision: Int64 = 1
    private(set) var values: [[UInt8]: EtcdKeyValue] = [:]
    /// Changes by revision, from `compacted` on.
    private(set) var history: [(revision: Int64, changes: [EtcdChange])] = []
    private(set) var compacted: Int64 = 1
    /// Leases with the time of their end.
    private(set) var leases: [Int64: Int64] = [:]
    var isFull = false

    /// Gives a new cluster the latest format.
    mutating func beginFormat() {
        guard case .success(let reply) = apply(FormatOverview.request) else { return }
        if let beginning = FormatOverview(reply).beginning { _ = apply(beginning) }
    }

    // MARK: Transactions

    mutating func apply(_ transaction: EtcdTransaction) -> Result<EtcdTransactionReply, EtcdError> {
        let holds = transaction.comparisons.allSatisfy(holds)
        let operations = holds ? transaction.success : transaction.failure
        var written: Set<[UInt8]> = []
        for case .put(let key, _, let lease) in operations {
            if isFull { return .failure(.noSpace) }
            if lease != 0, leases[lease] == nil { return .failure(.leaseNotFound) }
            if !written.insert(key).inserted { return .failure(.invalidRequest("duplicate key given in txn request")) }
        }
        for case .delete(let keys) in operations where written.contains(where: keys.contains) {
            return .failure(.invalidRequest("duplicate key given in txn request"))
        }
        let next = revision + 1
        var changes: [EtcdChange] = []
        var results: [EtcdTransactionReply.Result] = []
        for operation in operations {
            switch operation {
            case .put(let key, let value, let lease):
                let created = values[key]?.createRevision ?? next
                let new = EtcdKeyValue(
                    key: key, value: value, createRevision: created, modRevision: next, lease: lease)
                values[key] = new
                changes.append(.put(new))
                results.append(.put)
            case .delete(let keys):
                let gone = self.keys(in: keys)
                for key in gone { values[key] = nil }
                changes += gone.map { .delete(key: $0, revision: next) }
                results.append(.deleted(count: Int64(gone.count)))
            case .range(let range): results.append(.range(read(range)))
            }
        }
        commit(changes)
        for case (let index, .range(var reply)) in results.enumerated() {
            reply.revision = revision
            results[index] = .range(reply)
        }
        return .success(EtcdTransactionReply(revision: revision, hasSucceeded: holds, results: results))
    }

    private func holds(_ comparison: EtcdTransaction.Comparison) -> Bool {
        guard let end = comparison.rangeEnd else { return holds(comparison, for: values[comparison.key]) }
        let present = keys(in: .keys(from: comparison.key, upTo: end)).map { values[$0] }
        return (present.isEmpty ? [nil] : present).allSatisfy { holds(comparison, for: $0) }
    }

    private func holds(_ comparison: EtcdTransaction.Comparison, for value: EtcdKeyValue?) -> Bool {
        func compare<Value: Comparable>(_ present: Value, _ wanted: Value) -> Bool {
            switch comparison.relation {
            case .equal: present == wanted
            case .notEqual: present != wanted
            case .greater: present > wanted
            case .less: present < wanted
            }
        }
        switch comparison.property {
        case .createRevision(let wanted): return compare(value?.createRevision ?? 0, wanted)
        case .modRevision(let wanted): return compare(value?.modRevision ?? 0, wanted)
        case .lease(let wanted): return compare(value?.lease ?? 0, wanted)
        case .value(let wanted):
            guard let present = value?.value else { return false }
            switch comparison.relation {
            case .equal: return present == wanted
            case .notEqual: return present != wanted
            case .greater: return wanted.lexicographicallyPrecedes(present)
            case .less: return present.lexicographicallyPrecedes(wanted)
            }
        }
    }

    private func keys(in keys: EtcdKeyRange) -> [[UInt8]] {
        if keys.end == nil { return values[keys.start] == nil ? [] : [keys.start] }
        return values.keys.filter(keys.contains).sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func read(_ range: EtcdRange) -> EtcdRangeReply {
        var keys = keys(in: range.keys)
        if range.isDescending { keys.reverse() }
        let count = range.limit > 0 ? min(keys.count, Int(range.limit)) : keys.count
        return EtcdRangeReply(
            revision: revision,
            values: keys.prefix(count).compactMap { key in
                var value = values[key]
                if range.keysOnly { value?.value = [] }
                return value
            }, hasMore: count < keys.count)
    }

    private mutating func commit(_ changes: [EtcdChange]) {
        guard !changes.isEmpty else { return }
        revision += 1
        history.append((revision, changes))
    }

    // MARK: Leases

    mutating func grant(_ lease: Int64, until end: Int64) -> Bool {
        if leases[lease] != nil || isFull { return false }
        leases[lease] = end
        return true
    }

    mutating func keepAlive(_ lease: Int64, until end: Int64) -> Bool {
        guard leases[lease] != nil else { return false }
        leases[lease] = end
        return true
    }

    mutating func end(_ lease: Int64) {
        guard leases.removeValue(forKey: lease) != nil else { return }
        let gone = values.values.filter { $0.lease == lease }.map(\.key)
            .sorted { $0.lexicographicallyPrecedes($1) }
        for key in gone { values[key] = nil }
        commit(gone.map { .delete(key: $0, revision: revision + 1) })
    }

    mutating func endLeases(at time: Int64) {
        for (lease, end) in leases.sorted(by: { $0.key < $1.key }) where end <= time { self.end(lease) }
    }

    // MARK: Changes

    mutating func compact() {
        compacted = revision
        history.removeAll { $0.revision < compacted }
    }

    /// The changes of some keys from a revision on; nil if it is compacted.
    func changes(_ keys: EtcdKeyRange, from start: Int64) -> [EtcdChange]? {
        guard start >= compacted else { return nil }
        // The history is sorted, and most watches want its end.
        return history.reversed().prefix { $0.revision >= start }.reversed()
            .flatMap { $0.changes.filter { keys.contains($0.key) } }
    }
}
