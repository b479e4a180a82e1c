import HearthEventLoop
import Synchronization

/// A way to a server on which things go wrong.
final class Relay: Sendable {
    private let group: EventLoopGroup
    private let listener: Listener
    private let shared: Shared

    /// On the loop's thread, except atomic members.
    private final class Shared: @unchecked Sendable {
        let isDeaf = Atomic(false)
        /// Connections that may still be made.
        let admitted = Atomic(Int.max)
        var streams: [Stream] = []
    }

    /// - parameter port: of the server on this machine.
    init(to port: UInt16) throws {
        let shared = Shared()
        self.shared = shared
        group = try EventLoopGroup(count: 1, name: "relay")
        listener = try Listener(at: .loopback(port: 0), on: group) { client in
            let (toServer, toClient) = (End(shared, isServer: false), End(shared, isServer: true))
            let isAdmitted = shared.admitted.subtract(1, ordering: .sequentiallyConsistent).newValue >= 0
            toServer.partner = toClient
            toClient.partner = toServer
            toServer.stream = client
            shared.streams.append(client)
            if isAdmitted {
                let server = client.loop.connect(host: "127.0.0.1", port: port, handler: toClient)
                shared.streams.append(server)
            } else {
                client.loop.execute { client.close() }
            }
            return toServer
        }
    }

    deinit {
        listener.close()
        group.shutDown(grace: .zero)
        group.join()
    }

    var url: String { "http://\(listener.address)" }

    /// From now on clients hear nothing of the server, which still hears them.
    func deafen() { shared.isDeaf.store(true, ordering: .sequentiallyConsistent) }

    /// Lets so many more connections be made.
    func admit(_ count: Int) { shared.admitted.store(count, ordering: .sequentiallyConsistent) }

    /// Ends all connections. On those that come later clients hear again.
    func cut() {
        group.loops[0].execute { [shared] in
            shared.isDeaf.store(false, ordering: .sequentiallyConsistent)
            for stream in shared.streams { stream.close() }
            shared.streams = []
        }
    }

    /// What comes from one side, on its way to the other.
    private final class End: StreamHandler {
        private let shared: Shared
        private let isServer: Bool
        var partner: End?
        /// Once it is open.
        var stream: Stream?
        private var waiting: [UInt8] = []

        init(_ shared: Shared, isServer: Bool) { (self.shared, self.isServer) = (shared, isServer) }

        func opened(_ stream: Stream) {
            self.stream = stream
            if !waiting.isEmpty { stream.send(shared: waiting) }
            waiting = []
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            if isServer, shared.isDeaf.load(ordering: .sequentiallyConsistent) { return }
            guard let partner else { return }
            if let stream = partner.stream { stream.send(shared: Array(bytes)) } else { partner.waiting += bytes }
        }

        func closed(_ stream: Stream, reason: CloseReason) {
            partner?.stream?.close()
            partner = nil
            self.stream = nil
        }
    }
}
