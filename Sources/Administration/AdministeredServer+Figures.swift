import HearthAccountEndpoints
import HearthDatabaseHost
import HearthIdentity
import HearthRealtimeSessions
import HearthSystem

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
