package import HearthJSONValues

/// Comparisons, and the operations if all of them hold, or if not. Atomic.
package struct EtcdTransaction: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/kv/txn"
    /// How many operations a branch may have, unless etcd runs with another `--max-txn-ops`.
    package static let operationsMax = 128

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

    package var body: [UInt8] {
        var body = RequestBody(into: [])
        // Values are long, and growing in steps would copy them again and again.
        body.bytes.reserveCapacity(256 + (success + failure).reduce(0) { $0 + $1.byteCount * 4 / 3 })
        body.open()
        if !comparisons.isEmpty {
            body.open("compare", "[")
            for comparison in comparisons { comparison.append(to: &body) }
            body.close("]")
        }
        for (name, operations) in [("success" as StaticString, success), ("failure", failure)] where !operations.isEmpty
        {
            body.open(name, "[")
            for operation in operations { operation.append(to: &body) }
            body.close("]")
        }
        body.close()
        return body.bytes
    }

    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> EtcdTransactionReply {
        let members = ReplyObject(members)
        let hasSucceeded = try members.flag("succeeded")
        let operations = hasSucceeded ? success : failure
        let responses = try members.objects("responses")
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
    func append(to body: inout RequestBody) {
        body.open()
        body.field("key", base64: key)
        if let rangeEnd { body.field("range_end", base64: rangeEnd) }
        switch relation {
        case .equal: body.field("result", word: "EQUAL")
        case .notEqual: body.field("result", word: "NOT_EQUAL")
        case .greater: body.field("result", word: "GREATER")
        case .less: body.field("result", word: "LESS")
        }
        switch property {
        case .createRevision(let revision):
            body.field("target", word: "CREATE")
            body.field("create_revision", revision)
        case .modRevision(let revision):
            body.field("target", word: "MOD")
            body.field("mod_revision", revision)
        case .lease(let lease):
            body.field("target", word: "LEASE")
            body.field("lease", lease)
        case .value(let value):
            body.field("target", word: "VALUE")
            body.field("value", base64: value)
        }
        body.close()
    }
}

extension EtcdTransaction.Operation {
    fileprivate var byteCount: Int {
        if case .put(let key, let value, _) = self { key.count + value.count + 64 } else { 64 }
    }

    fileprivate func append(to body: inout RequestBody) {
        body.open()
        switch self {
        case .put(let key, let value, let lease):
            body.open("request_put")
            EtcdPut(key: key, value: value, lease: lease).append(to: &body)
        case .delete(let keys):
            body.open("request_delete_range")
            body.range(keys)
        case .range(let range):
            body.open("request_range")
            range.append(to: &body)
        }
        body.close()
        body.close()
    }

    fileprivate func result(
        _ response: ReplyObject, _ header: EtcdHeader
    ) throws(EtcdError) -> EtcdTransactionReply.Result {
        switch self {
        case .put: if response.has("response_put") { return .put }
        case .delete:
            if let members = try response.object("response_delete_range") {
                return .deleted(count: try members.integer("deleted"))
            }
        case .range:
            if let members = try response.object("response_range") {
                return .range(try EtcdRangeReply(members, header))
            }
        }
        throw .malformedReply("a response does not belong to its operation")
    }
}
