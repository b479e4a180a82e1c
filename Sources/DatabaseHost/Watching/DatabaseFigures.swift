package import HearthDatabaseScheduler
import HearthJSONTree
import HearthTreeQueries
package import HearthJSONValues
package import HearthRealtimeDatabase
import HearthSecurityRules
package import HearthStorageErrors

/// The figures of an open database.
package struct DatabaseFigures: Sendable {
    package var name: String
    package var requests: Int64 = 0
    /// The last operation, the last one that the log has, and the last one that the tree file has.
    package var sequence: UInt64 = 0
    package var durableSequence: UInt64 = 0
    package var appliedSequence: UInt64 = 0
    package var listeners = 0
    /// Memory for rows in use, and for rows that changed and are not in the tree file.
    package var residentBytes = 0
    package var changedBytes = 0
    /// Requests that wait.
    package var heldRequests = 0
    /// Why it refuses writes.
    package var refusal: StorageError?
    package var ownership = Ownership.alone
    /// The queues that its settings ask for.
    package var queues: [QueueStatus] = []
    /// The values that must be unique. Empty unless asked for (``HostedDatabase/detailedFigures``), as are the totals.
    package var unique: [UniqueStatus] = []
    /// The totals that are kept.
    var counters: [CounterStatus] = []

    /// Empty figures, to add up those of several databases.
    package static let zero = DatabaseFigures(name: "")

    package var json: JSONObject {
        JSONObject([
            "name": .text(name), "requests": .integer(requests), "sequence": .integer(Int64(clamping: sequence)),
            "durable": .integer(Int64(clamping: durableSequence)), "listeners": .integer(Int64(listeners)),
            "resident": .integer(Int64(residentBytes)), "changed": .integer(Int64(changedBytes)),
            "held": .integer(Int64(heldRequests)), "refuses": refusal.map { .text($0.message) },
            "unique": unique.isEmpty ? nil : .array(unique.map { .object($0.json) }),
            "totals": counters.isEmpty ? nil : .array(counters.map { .object($0.json) }),
        ])
    }
}

extension UniqueStatus {
    fileprivate var json: JSONObject {
        let pairs = duplicates.map { pair in
            JSONValue.object(
                JSONObject([
                    "path": .text("\(pair.collection)"),
                    "keys": .array([.text(pair.first.description), .text(pair.second.description)]),
                ]))
        }
        return JSONObject([
            "path": .text("/\(pattern)"), "child": .text(index.description), "state": .text(state.rawValue),
            "duplicates": duplicates.isEmpty ? nil : .array(pairs),
            "count": duplicates.isEmpty ? nil : .integer(Int64(duplicateCount)),
        ])
    }
}

extension CounterStatus {
    fileprivate var json: JSONObject {
        JSONObject([
            "path": .text("/\(definition.targets.text)"), "of": .text("/\(definition.collections.text)"),
            "value": (definition.summed?.description).map { .text($0) }, "state": .text(state.rawValue),
        ])
    }
}
