package import EventLoop
package import RealtimeDatabase
import TreeStorage

/// A running server: listener, event loops, database thread.
package final class Server: Sendable {
    /// Where it listens, with the real port.
    package let address: SocketAddress
    private let group: EventLoopGroup
    private let listener: Listener
    private let databases: DatabaseThread
    private let log: Log

    package enum StartError: Error {
        case storage(StorageError)
        case system(String)
    }

    /// Opens the data folder and begins to serve.
    package init(_ configuration: ServerConfiguration) throws(StartError) {
        let log = Log(level: configuration.logLevel)
        self.log = log
        do {
            let folder = try DataFolder(path: configuration.dataFolder, durability: configuration.durability)
            let loopCount = min(configuration.loops ?? EventLoopGroup.availableCPUCount, ConnectionID.loopsMax)
            let group = try EventLoopGroup(count: loopCount)
            let directory = DatabaseDirectory(
                defaultName: configuration.defaultDatabase, databasesMax: configuration.databasesMax)
            let contexts = LoopContexts()
            let readers = SnapshotReaders(threadsMax: 8) { stream, piece in contexts.deliver(piece, of: stream) }
            let databases = try DatabaseThread(
                folder: folder, directory: directory, limits: configuration.databaseLimits, loops: loopCount, log: log,
                readers: readers
            ) { loop, delivery in contexts.deliver(delivery, to: loop) }
            let services = Services(
                configuration: configuration, directory: directory, databases: databases, log: log)
            contexts.set(group.loops.enumerated().map { LoopContext(index: $0, loop: $1, services: services) })
            var options = Listener.Options()
            options.connectionsMax = configuration.connectionsMax
            options.limits.hardLimit = configuration.connectionLimits.outboundBytesMax
            listener = try Listener(at: configuration.address, on: group, options: options) { stream in
                HTTPConnection(stream: stream, context: contexts.context(of: stream.loop))
            }
            self.group = group
            self.databases = databases
            address = listener.address
            Server.startTicking(on: group.loops[0], databases)
        } catch let error as StorageError {
            throw .storage(error)
        } catch {
            throw .system("\(error)")
        }
    }

    /// Stops gracefully: no new connections, everything accepted becomes durable and is answered, then the connections close.
    package func stop() {
        log.info("server.stopping")
        listener.close()
        databases.finish()
        group.shutDown(grace: .seconds(5))
        group.join()
        log.info("server.stopped")
    }

    private static func startTicking(on loop: EventLoop, _ databases: DatabaseThread) {
        loop.execute { tick(loop, databases) }
    }

    private static func tick(_ loop: EventLoop, _ databases: DatabaseThread) {
        databases.tick()
        loop.schedule(after: .milliseconds(200)) { tick(loop, databases) }
    }
}

extension Server.StartError {
    /// One line for people.
    package var message: String {
        switch self {
        case .storage(let error): error.message
        case .system(let text): text
        }
    }
}
