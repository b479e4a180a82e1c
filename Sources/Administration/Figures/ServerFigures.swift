import HearthDatabaseHost
import HearthJSONValues
import HearthSystem

/// The server's state, for administrators.
struct ServerFigures: Sendable {
    var project = ""
    /// In seconds.
    var uptime: Int64 = 0
    var loops = 0
    var connections: Int64 = 0
    var sessions: Int64 = 0
    var eventStreams: Int64 = 0
    /// Memory that requests under way take, in bytes.
    var requestBytes: Int64 = 0
    /// Resident, in bytes.
    var memory: Int64 = 0
    /// Of processors, in seconds.
    var cpu: Double = 0
    /// Messages to listeners since the start.
    var pushes: Int64 = 0
    var commits = Histogram(.durations)
    /// Of the databases that are open.
    var databases: [DatabaseFigures] = []

    var json: JSONObject {
        JSONObject([
            "project": .text(project), "uptime": .integer(uptime), "connections": .integer(connections),
            "sessions": .integer(sessions), "eventStreams": .integer(eventStreams),
            "requestBytes": .integer(requestBytes), "memory": .integer(memory), "cpu": .double(cpu),
            "loops": .integer(Int64(loops)), "pushes": .integer(pushes),
            "commits": .object(
                JSONObject([
                    "sum": .double(Double(commits.sum) / commits.bounds.unitsPerValue),
                    "bounds": .array(commits.bounds.json), "counts": .array(commits.counts.map { .integer($0) }),
                ])),
            "databases": .array(databases.map { .object($0.json) }),
        ])
    }
}

extension Histogram.Bounds {
    /// In the unit of the exported metric.
    var json: [JSONValue] { values.map { .double(Double($0) / unitsPerValue) } }
}
