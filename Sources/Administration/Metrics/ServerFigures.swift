import HearthDatabaseHost
import HearthIdentity
import HearthJSONValues
import HearthSystem
import HearthAccountEndpoints
import HearthRealtimeSessions

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

extension AdministeredServer {
    /// Asks all threads for the present figures.
    ///
    /// - parameter isDetailed: with the state of the databases' settings.
    func gatherFigures(isDetailed: Bool, then: @escaping @Sendable (ServerFigures) -> Void) {
        connected.report(0) { [self] loops in
            databases.ask { [self] databases in
                var figures = ServerFigures()
                let usage = ProcessUsage.current
                figures.project = identity?.accounts.projects.current ?? configuration.project
                figures.uptime = (WallClock.milliseconds - startedAt) / 1000
                figures.loops = loops.count
                for report in loops {
                    figures.connections += Int64(report.connections)
                    figures.sessions += Int64(report.sessions)
                    figures.eventStreams += Int64(report.eventStreams)
                    figures.pushes += report.pushes
                }
                figures.requestBytes = Int64(requestMemory.bytesUsed)
                (figures.memory, figures.cpu) = (usage.memory, usage.seconds)
                figures.commits = metrics.values.commits
                figures.databases = isDetailed ? databases.detailedFigures : databases.figures
                then(figures)
            }
        }
    }
}
