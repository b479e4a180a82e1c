/// Comparisons, and the operations if all of them hold, or if not. Atomic.
package struct EtcdTransaction: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.KV/Txn"

    package struct Comparison: Hashable, Sendable {
        package enum Relation: Hashable, Sendable { case equal, notEqual, greater, less }

        /// The compared property. All numbers of a key that does not exist are 0; a comparison with its value never
        /// holds.
        package enum Property: Hashable, Sendable {
            case createRevision(Int64)
            case modRevision(Int64)
            case lease(Int64)
            case value([UInt8])
        }

        package var key: [UInt8]
        /// Where a range of keys ends that begins with the key; nil for the key alone. The comparison must hold for all
        /// keys there; without any, the numbers are 0.
        package private(set) var rangeEnd: [UInt8]?
        package var relation: Relation
        package var property: Property

        /// Holds if there is no key in a range.
        package static func isEmpty(_ range: EtcdKeyRange) -> Comparison {
            var comparison = Comparison(range.start, .equal, .createRevision(0))
            comparison.rangeEnd = range.end
            return comparison
        }

        /// Holds if no key of a range was written after a revision.
        package static func isUnwritten(_ range: EtcdKeyRange, since revision: Int64) -> Comparison {
            var comparison = Comparison(range.start, .less, .modRevision(revision + 1))
            comparison.rangeEnd = range.end
            return comparison
        }

        package init(_ key: [UInt8], _ relation: Relation = .equal, _ property: Property) {
            self.key = key
            self.relation = relation
            self.property = property
        }
    }

    /// A key may be written by one operation of a branch only.
    package enum Operation: Hashable, Sendable {
        /// A lease of 0 means none; the key then has no lease, even if it had one before.
        case put(key: [UInt8], value: [UInt8], lease: Int64 = 0)
        case delete(EtcdKeyRange)
        case range(EtcdRange)
    }

    package var comparisons: [Comparison]
    package var success: [Operation]
    package var failure: [Operation]
    /// Its success makes its comparisons fail, or it writes the same again: see ``EtcdCall/isRepeatable``.
    package var isRepeatable: Bool

    package init(
        if comparisons: [Comparison] = [], then success: [Operation], else failure: [Operation] = [],
        isRepeatable: Bool
    ) {
        self.comparisons = comparisons
        self.success = success
        self.failure = failure
        self.isRepeatable = isRepeatable
    }

    private enum Field: UInt32 { case comparisons = 1, success, failure }
    package enum ReplyField: UInt32, Sendable { case header = 1, hasSucceeded, responses }
    fileprivate enum OperationField: UInt32 { case range = 1, put, delete }

    package var message: [UInt8] {
        var message = MessageWriter<Field>()
        for comparison in comparisons { message.message(.comparisons) { comparison.write(to: &$0) } }
        for operation in success { message.message(.success) { operation.write(to: &$0) } }
        for operation in failure { message.message(.failure) { operation.write(to: &$0) } }
        return message.bytes
    }

    package func reply(
        _ header: EtcdHeader, _ message: ReplyMessage<ReplyField>
    ) throws(EtcdError) -> EtcdTransactionReply {
        let hasSucceeded = try message.flag(.hasSucceeded)
        guard hasSucceeded || !comparisons.isEmpty else {
            throw .malformedReply("a transaction without conditions has failed")
        }
        let operations = hasSucceeded ? success : failure
        let responses = try message.messages(.responses, OperationField.self)
        guard responses.count == operations.count else {
            throw .malformedReply("\(responses.count) responses to \(operations.count) operations")
        }
        var results: [EtcdTransactionReply.Result] = []
        for (operation, response) in zip(operations, responses) {
            results.append(try operation.result(response, header))
        }
        return EtcdTransactionReply(revision: header.revision, hasSucceeded: hasSucceeded, results: results)
    }
}

package struct EtcdTransactionReply: Hashable, Sendable {
    package enum Result: Hashable, Sendable {
        case put
        case deleted(count: Int64)
        case range(EtcdRangeReply)
    }

    /// Of the store: that of the transaction itself if it wrote something.
    package var revision: Int64
    /// The comparisons held, so the first branch was taken.
    package var hasSucceeded: Bool
    /// One for each operation of the branch.
    package var results: [Result]

    package init(revision: Int64, hasSucceeded: Bool, results: [Result]) {
        self.revision = revision
        self.hasSucceeded = hasSucceeded
        self.results = results
    }

    /// The result of a range; empty for other operations.
    package func values(_ index: Int) -> [EtcdKeyValue] {
        if case .range(let range) = results[index] { range.values } else { [] }
    }
}

extension EtcdTransaction.Comparison {
    enum Field: UInt32 {
        case relation = 1
        case target, key
        case createRevision = 5
        case modRevision, value, lease
        case rangeEnd = 64
    }

    func write(to message: inout MessageWriter<Field>) {
        let number: Int64 =
            switch relation {
            case .equal: 0
            case .greater: 1
            case .less: 2
            case .notEqual: 3
            }
        message.integer(.relation, number)
        message.bytes(.key, key)
        if let rangeEnd { message.bytes(.rangeEnd, rangeEnd) }
        switch property {
        case .createRevision(let revision):
            message.integer(.target, 1)
            message.integer(.createRevision, revision)
        case .modRevision(let revision):
            message.integer(.target, 2)
            message.integer(.modRevision, revision)
        case .value(let value):
            message.integer(.target, 3)
            message.bytes(.value, value)
        case .lease(let lease):
            message.integer(.target, 4)
            message.integer(.lease, lease)
        }
    }
}

extension EtcdTransaction.Operation {
    private enum DeleteField: UInt32 { case key = 1, end }
    private enum DeleteReplyField: UInt32 { case header = 1, count }

    fileprivate func write(to message: inout MessageWriter<EtcdTransaction.OperationField>) {
        switch self {
        case .put(let key, let value, let lease):
            message.message(.put) { EtcdPut(key: key, value: value, lease: lease).write(to: &$0) }
        case .delete(let keys):
            message.message(.delete, DeleteField.self) {
                $0.bytes(.key, keys.start)
                if let end = keys.end { $0.bytes(.end, end) }
            }
        case .range(let range): message.message(.range) { range.write(to: &$0) }
        }
    }

    fileprivate func result(
        _ response: ReplyMessage<EtcdTransaction.OperationField>, _ header: EtcdHeader
    ) throws(EtcdError) -> EtcdTransactionReply.Result {
        switch self {
        case .put: if response.has(.put) { return .put }
        case .delete:
            if let message = try response.message(.delete, DeleteReplyField.self) {
                return .deleted(count: try message.integer(.count))
            }
        case .range:
            if let message = try response.message(.range, EtcdRange.ReplyField.self) {
                return .range(try EtcdRangeReply(message, header))
            }
        }
        throw .malformedReply("a response does not belong to its operation")
    }
}
