import HearthEventLoop
import HearthRealtimeDatabase
import HearthReplicatedLog
import HearthSystem
import Synchronization

/// The thread of a node's links to other nodes, and its listener for theirs.
final class PeerHub: Sendable {
    private let group: EventLoopGroup
    private let links: PeerLinks
    private let listener: Listener
    private let copies: CopySender
    private let queued: @Sendable (_ bytes: Int, _ link: Int) -> Void

    /// Nodes connect once each, so more than this are not nodes.
    private static let connectionsMax = 256

    init(
        _ configuration: PeerConfiguration, name: String, incarnation: UInt64, _ delegate: PeerDelegate,
        tls: (client: TLSContext, server: TLSContext)? = nil
    ) throws(SystemError) {
        queued = delegate.queued
        group = try EventLoopGroup(count: 1, name: "peers")
        do throws(SystemError) {
            copies = try CopySender(group.loops[0], makeCopy: delegate.makeCopy)
        } catch {
            group.stop()
            throw error
        }
        let links = PeerLinks(
            group.loops[0], name: name, incarnation: incarnation, configuration, delegate, copies, tls: tls?.client)
        self.links = links
        var options = Listener.Options()
        options.connectionsMax = Self.connectionsMax
        options.limits = PeerLinks.limits(configuration.times)
        options.tls = tls?.server
        do throws(SystemError) {
            listener = try Listener(at: configuration.address, on: group, options: options) { links.accept($0.peer) }
        } catch {
            group.stop()
            throw SystemError("the listener for nodes, which --peer-listen places: \(error.attempt)", code: error.code)
        }
        run { $0.tick() }
    }

    private func run(_ body: @escaping @Sendable (PeerLinks) -> Void) {
        group.loops[0].execute { [links] in body(links) }
    }

    /// Where it listens, with the real port.
    var address: SocketAddress { listener.address }

    func set(_ nodes: [String: NodeRecord]) { run { $0.set(nodes) } }

    /// Whether the name is this process's: another one may have it since the end of the lease.
    func set(isRegistered: Bool) { run { $0.set(isRegistered: isRegistered) } }

    /// The nodes that run and were not reached for some seconds.
    var unreached: Set<String> { links.unreached.withLock { $0 } }

    func forward(_ requests: [ForwardedRequest], of database: String, to node: String) {
        run { $0.forward(requests, of: database, to: node) }
    }

    /// The answers count as queued from now on, until the other nodes have them.
    func answer(_ answers: [(connection: ConnectionID, number: Int64, reply: Reply)], sequence: UInt64) {
        for answer in answers { queued(answer.reply.queuedBytes, answer.connection.link) }
        run { $0.answer(answers, sequence: sequence) }
    }

    func end(_ connections: [ConnectionID]) { run { $0.end(connections) } }

    func follow(_ request: FeedRequest, of database: String, at node: String) {
        run { $0.follow(request, of: database, at: node) }
    }

    func unfollow(_ database: String, at node: String) { run { $0.unfollow(database, at: node) } }

    func pass(_ batch: [UInt8], floor: UInt64, owner: String?, of database: String, to nodes: [String]) {
        run { $0.pass(batch, floor: floor, owner: owner, of: database, to: nodes) }
    }

    /// - parameter nodes: nil for all.
    func endFeeds(of database: String, to nodes: [String]?) { run { $0.endFeeds(of: database, to: nodes) } }

    /// Sends what waits, and ends.
    func stop() {
        listener.close()
        let isQuiet = Semaphore()
        run { links in
            links.takeNoMoreRequests()
            isQuiet.signal()
        }
        isQuiet.wait()
        // The answers to those that were taken are on their way to the loop by now.
        run { $0.stop() }
        group.shutDown(grace: .seconds(1))
        group.join()
        copies.stop()
    }
}
