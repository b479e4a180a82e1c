import HearthClusterNode
import HearthDatabaseHost
import HearthEventLoop
import HearthFetching
import Glibc
import HearthServerLog
import Synchronization
package import HearthSystem
import HearthAccess
import HearthAdministration
import HearthAccountEndpoints
import HearthBackups
import HearthClusterSharing
import HearthHTTPConnections

extension Server {
    /// Says from now on that the server is not ready, and takes all requests as before: `stop()` follows.
    package func drain() {
        let seconds = services.configuration.drainTime.components.seconds
        services.log.info("server.draining", [("seconds", "\(seconds)")])
        services.readiness.stop()
    }

    /// Stops gracefully: no new connections, everything accepted becomes durable and is answered, then the connections
    /// close. Later requests of realtime clients get no answer, so that they repeat them at the next server; requests
    /// over HTTP are refused. Not from an event loop.
    package func stop() {
        services.log.info("server.stopping")
        services.readiness.stop()
        for listener in listeners { listener.close() }
        // HTTP connections answer their present requests. Later ones are refused there, so the order is kept.
        connectionLoops.beginStopping()
        services.sharing?.beginToStop()
        services.databases.finish()
        services.sharing?.stop()
        cluster?.stop()
        group.shutDown(grace: services.configuration.stopGrace)
        group.join()
        fetcher.stop()
        // The listeners refer to the connection loops, and so to the services, which hold the data folder and its lock.
        services.administered.set([])
        services.helper.stop()
        services.parser.stop()
        services.identity?.stop()
        services.archiver?.stop()  // After everything that writes.
        services.set(nil as Sharing?)
        services.log.info("server.stopped")
    }

    /// Calls `end` on SIGINT and SIGTERM. On SIGHUP it reads the certificate again and opens the audit log again, which
    /// may have another name by then. A second signal ends the process at once; with a `drainTime`, a second one calls
    /// `end` again, and a third one ends the process.
    package func onSignals(_ end: @escaping @Sendable () -> Void) throws(SystemError) {
        let (tls, log, trail) = (services.tls, services.log, services.trail)
        let status = "answers on \(address)"
        let endsMax = services.configuration.drainTime > .zero ? 2 : 1
        let ends = Mutex(0)
        try Signals.forward([SIGINT, SIGTERM, SIGHUP], to: group.loops[0]) { signal in
            guard signal == SIGHUP else {
                let count = ends.withLock { ends in
                    ends += 1
                    return ends
                }
                if count == endsMax { for number in [SIGINT, SIGTERM] { Glibc.signal(number, SIG_DFL) } }
                return end()
            }
            // A server that ends is not ready again because it has read its certificate.
            let manager = ends.withLock { $0 == 0 } ? ServiceManager.inherited : ServiceManager(socketName: nil)
            manager.notify(.reloading)
            defer { manager.notify(.ready(status)) }
            do throws(SystemError) { try trail.reopen() } catch {
                log.error("audit.reopen-failed", [("error", "\(error)")])
            }
            guard let tls else { return }
            do throws(TLSError) {
                try tls.reload()
                log.info("tls.reloaded")
            } catch {
                log.error("tls.reload-failed", [("error", "\(error)")])
            }
        }
    }
}
