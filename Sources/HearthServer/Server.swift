package import EventLoop
import Glibc
import Identity
import JSONTree
package import RealtimeDatabase
import TreeStorage

/// A running server: listener, event loops, database thread.
package final class Server: Sendable {
    /// Where it listens, with the real port.
    package let address: SocketAddress
    private let group: EventLoopGroup
    private let listener: Listener
    let services: Services
    private let tls: TLSContext?

    /// Why a server did not start.
    package enum StartError: Error {
        case storage(StorageError)
        /// The configuration asks for something that is not safe or not there.
        case configuration(String)
        case system(String)

        /// One line for people.
        package var message: String {
            switch self {
            case .storage(let error): error.message
            case .configuration(let text), .system(let text): text
            }
        }
    }

    /// Opens the data folder and begins to serve.
    package init(_ configuration: ServerConfiguration) throws(StartError) {
        try Self.check(configuration)
        let indexes = try configuration.rulesFile.map { (file) throws(StartError) in try Self.indexes(of: file) } ?? []
        do {
            let log = Log(level: configuration.logLevel)
            let folder = try DataFolder(path: configuration.dataFolder, durability: configuration.durability)
            let loopCount = min(configuration.loops ?? EventLoopGroup.availableCPUCount, ConnectionID.loopsMax)
            let group = try EventLoopGroup(count: loopCount)
            let directory = DatabaseDirectory(
                defaultName: configuration.defaultDatabase, databasesMax: configuration.databasesMax)
            let contexts = LoopContexts()
            let readiness = Readiness()
            let readers = SnapshotReaders(configuration.snapshotLimits) { stream, piece in
                contexts.deliver(piece, of: stream)
            }
            let databases = try DatabaseThread(
                folder: folder, directory: directory, limits: configuration.databaseLimits, indexes: indexes,
                loops: loopCount, log: log, readers: readers, readiness: readiness
            ) { loop, delivery in contexts.deliver(delivery, to: loop) }
            let identity = try configuration.identity.map { identity in
                try IdentityService(
                    folder: folder.path, survivesPowerLoss: configuration.durability == .full, configuration: identity,
                    fetcher: HTTPSFetcher(loop: group.loops[0], tls: try .client()), log: log)
            }
            let services = try Services(
                configuration: configuration, folder: folder, directory: directory, databases: databases,
                identity: identity, readiness: readiness, log: log)
            contexts.set(
                group.loops.enumerated().map {
                    LoopContext(index: $0, loop: $1, services: services, contexts: contexts)
                })
            tls = try configuration.tls.map {
                try TLSContext.server(certificateFile: $0.certificate, keyFile: $0.key)
            }
            var options = Listener.Options()
            options.connectionsMax = configuration.connectionsMax
            options.limits.hardLimit = configuration.connectionLimits.outboundBytesMax
            options.tls = tls
            listener = try Listener(at: configuration.address, on: group, options: options) { stream in
                HTTPConnection(stream: stream, context: contexts.context(of: stream.loop))
            }
            self.group = group
            self.services = services
            address = listener.address
            Self.tick(group.loops[0], databases, identity)
        } catch let error as StorageError {
            throw .storage(error)
        } catch AccountFailure.storage(let error) {
            throw .storage(error)
        } catch let error as StartError {
            throw error
        } catch {
            throw .system("\(error)")
        }
    }

    /// Until rules exist everything is open, which is for development on one machine only.
    private static func check(_ configuration: ServerConfiguration) throws(StartError) {
        guard configuration.isDevelopment else {
            throw .configuration(
                "this version does not enforce rules yet and so serves in development mode only, where everything is open "
                    + "to everyone on this machine: add --dev"
            )
        }
        guard configuration.address.isLoopback else {
            throw .configuration(
                "development mode listens on loopback only (127.0.0.1, ::1), not on \(configuration.address)")
        }
        guard DataFolder.isValidName(configuration.defaultDatabase) else {
            throw .configuration("a database name has 1 to 64 letters, digits, - and _")
        }
    }

    /// Of a rules file only the indexes count so far.
    private static func indexes(of file: String) throws(StartError) -> [IndexDefinition] {
        guard let text = FileBytes.read(file) else {
            throw .configuration("cannot read the rules file \(file): \(String(cString: strerror(errno)))")
        }
        do throws(RulesError) {
            return try RulesIndexes(parsing: text).definitions
        } catch {
            throw .configuration("\(file):\(error)")
        }
    }

    /// Stops gracefully: no new connections, everything accepted becomes durable and is answered, then the connections close.
    /// Not from an event loop.
    package func stop() {
        services.log.info("server.stopping")
        services.readiness.stop()
        listener.close()
        services.databases.finish()
        group.shutDown(grace: .seconds(5))
        group.join()
        services.helper.stop()
        services.identity?.stop()
        services.log.info("server.stopped")
    }

    /// Calls `end` on SIGINT and SIGTERM, and reads the certificate again on SIGHUP. A second signal ends the process at once.
    package func onSignals(_ end: @escaping @Sendable () -> Void) throws(SystemError) {
        let (tls, log) = (tls, services.log)
        try Signals.forward([SIGINT, SIGTERM, SIGHUP], to: group.loops[0]) { signal in
            guard signal == SIGHUP else {
                Glibc.signal(signal, SIG_DFL)
                return end()
            }
            do throws(TLSError) {
                try tls?.reload()
                log.info("tls.reloaded")
            } catch {
                log.error("tls.reload-failed", [("error", "\(error)")])
            }
        }
    }

    /// Fills the default database with the JSON of a file, if there is nothing in it.
    package func seed(from path: String) throws(StartError) {
        guard let text = FileBytes.read(path) else { throw .configuration("cannot read the seed file \(path)") }
        let value: CanonicalJSON
        do throws(JSONError) {
            value = try CanonicalJSON.parse(text).value
        } catch {
            let (line, column) = error.position(in: text)
            throw .configuration("\(path):\(line):\(column): \(error)")
        }
        // The reply goes to a connection that never was.
        let nobody = ConnectionID(loop: 0, kind: .http, serial: 0)
        let write = Operation.set(WriteTarget(path: .root), IncomingValue(json: value), expecting: [])
        if let database = try? services.directory.use("") {
            services.databases.post(database.index, [Request(connection: nobody, number: 0, operation: write)])
        }
    }

    private static func tick(_ loop: EventLoop, _ databases: DatabaseThread, _ identity: IdentityService?) {
        loop.execute {
            databases.tick()
            identity?.tick()
            loop.schedule(after: .milliseconds(200)) { tick(loop, databases, identity) }
        }
    }
}
