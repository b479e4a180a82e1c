public import HearthClientTransport

/// An in-memory network within one process, for tests: clients and servers without sockets, threads or a real clock.
///
///     let network = MemoryNetwork()
///     network.listen(at: "test", port: 80) { _ in Echo() }
///     let database = try Database(url: "ws://test:80", options: DatabaseOptions(transport: network))
///
/// **Order.** All events of a network (work of its loops, arriving bytes, timers) run one at a time, in the order of
/// their causes. So a test with a fixed order of causes sees a fixed order of effects. A task of the network runs the
/// events; ``settle()`` waits until there are none left.
///
/// **Time** does not pass by itself. ``advance(by:)`` moves it, and runs due timers in order, each at its moment.
/// Timeouts and reconnection pauses take no real time, and end only when the test says so. Short ones can be skipped:
/// when no other event is left, time moves on to them.
///
/// TLS is not simulated: a URL with `wss` connects as one with `ws` does.
public final class MemoryNetwork: ClientTransport {
    /// Makes the handler of an incoming connection from the server's end of it. Called in the network's order.
    public typealias Accept = @Sendable (any ClientStream) -> any ClientStreamHandler

    private let events: MemoryEvents
    private let places = MemoryPlaces()

    /// A network without listeners.
    ///
    /// - parameter skippedDelayMax: time moves on by itself over delays up to this one.
    public init(skippingDelaysUpTo skippedDelayMax: Duration = .zero) {
        events = MemoryEvents(skippingDelaysUpTo: skippedDelayMax)
    }

    /// A loop in this network's order.
    public func startLoop(name: String) -> any ClientLoop { MemoryLoop(events, places) }

    /// Peers do not prove their names here, so there is nothing to read.
    public func authorities(in file: String) throws(ClientTransportError) -> any ClientAuthorities {
        throw ClientTransportError("a network in memory has no TLS")
    }

    // MARK: Servers

    /// Listens for connections to a host and port, replacing an earlier listener. Names are compared literally.
    public func listen(at host: String, port: UInt16, accept: @escaping Accept) {
        places.replaceListener(at: host, port, accept)
    }

    /// Refuses further connections to a host and port. Open ones stay.
    public func stopListening(at host: String, port: UInt16) {
        places.replaceListener(at: host, port, nil)
    }

    /// Breaks all connections, like a network failure: neither end gets a goodbye, and bytes in transit are lost.
    public func breakConnections() {
        events.post { [places] in places.breakConnections() }
    }

    /// Bytes that have arrived at ends that do not take any at present.
    public var unreadBytes: Int { places.unreadBytes }

    // MARK: Events and time

    /// Moves time on. Returns when all that is due by then has happened, and all that this caused.
    public func advance(by duration: Duration) async { await events.advance(by: duration) }

    /// Waits until nothing is left to happen: at the present time, and after the delays that are skipped.
    public func settle() async { await events.settle() }
}
