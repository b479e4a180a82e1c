import HearthDatabaseHost
import HearthJSONValues
import HearthSystem

/// The figures of the last hour, for charts: a sample every ten seconds, a few hundred bytes each.
struct RecentFigures {
    static let interval = Duration.seconds(10)
    private let countMax: Int
    /// A ring: once it is full, the next place is that of the oldest.
    private var samples: [Sample] = []
    private var next = 0
    /// The databases' counts of the last time. One that opens brings its old operations with it.
    private var known: [String: (requests: Int64, operations: UInt64)] = [:]
    private var requests: Int64 = 0
    private var operations: Int64 = 0

    fileprivate struct Sample {
        /// In milliseconds since 1970.
        let time: Int64
        /// Without its databases.
        let server: ServerFigures
        /// Of all databases since the start of the server.
        let requests: Int64
        let operations: Int64
        /// Operations that wait for the disk.
        let waiting: UInt64
        let sum: DatabaseFigures
    }

    init(countMax: Int = 360) { self.countMax = countMax }

    mutating func add(_ figures: ServerFigures, at time: Int64) {
        var open: [String: (requests: Int64, operations: UInt64)] = [:]
        for database in figures.databases {
            if let before = known[database.name] {
                requests += max(0, database.requests - before.requests)
                operations += Int64(clamping: max(database.sequence, before.operations) - before.operations)
            }
            open[database.name] = (database.requests, database.sequence)
        }
        known = open
        var server = figures
        server.databases = []
        put(
            Sample(
                time: time, server: server, requests: requests, operations: operations,
                waiting: figures.databases.reduce(0) { $0 + $1.sequence - min($1.durableSequence, $1.sequence) },
                sum: Self.sum(of: figures.databases)))
    }

    private static func sum(of databases: [DatabaseFigures]) -> DatabaseFigures {
        databases.reduce(into: DatabaseFigures.zero) { sum, database in
            sum.listeners += database.listeners
            sum.residentBytes += database.residentBytes
            sum.changedBytes += database.changedBytes
            sum.heldRequests += database.heldRequests
        }
    }

    private mutating func put(_ sample: Sample) {
        if samples.count < countMax { return samples.append(sample) }
        samples[next] = sample
        next = (next + 1) % countMax
    }

    /// The samples, the oldest first (administration.md 2).
    var json: JSONObject {
        JSONObject([
            "seconds": .integer(Self.interval.components.seconds),
            "bounds": .array(Histogram.Bounds.durations.json),
            "samples": .array((samples[next...] + samples[..<next]).map { .object($0.json) }),
        ])
    }
}

extension RecentFigures.Sample {
    fileprivate var json: JSONObject {
        JSONObject([
            "at": .integer(time), "uptime": .integer(server.uptime), "connections": .integer(server.connections),
            "sessions": .integer(server.sessions), "eventStreams": .integer(server.eventStreams),
            "requestBytes": .integer(server.requestBytes), "memory": .integer(server.memory),
            "cpu": .double(server.cpu), "pushes": .integer(server.pushes),
            "commits": .array(server.commits.counts.map { .integer($0) }), "requests": .integer(requests),
            "operations": .integer(operations), "waiting": .integer(Int64(clamping: waiting)),
            "held": .integer(Int64(sum.heldRequests)), "listeners": .integer(Int64(sum.listeners)),
            "resident": .integer(Int64(sum.residentBytes)), "changed": .integer(Int64(sum.changedBytes)),
        ])
    }
}
