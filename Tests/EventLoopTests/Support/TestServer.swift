import HearthEventLoop
import HearthTestSupport
import Testing

/// A group of loops with one listener on loopback, ended with the test.
final class TestServer {
    let group: EventLoopGroup
    let listener: Listener

    init(
        loops: Int = 1, host: String = "127.0.0.1", options: Listener.Options = Listener.Options(),
        makeHandler: @escaping @Sendable (Stream) -> any StreamHandler
    ) throws {
        group = try EventLoopGroup(count: loops, name: "test")
        let address = try #require(SocketAddress(numeric: host, port: 0))
        listener = try Listener(at: address, on: group, options: options, makeHandler: makeHandler)
    }

    deinit {
        group.stop()
        group.join()
    }

    var port: UInt16 { listener.address.port }

    func connect(receiveBuffer: Int32? = nil) throws -> TestSocket {
        try TestSocket(port: port, receiveBuffer: receiveBuffer)
    }
}

/// A running loop that ends with the test.
final class TestLoop {
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(name: "test")
        try loop.start()
    }

    deinit {
        loop.stop()
        loop.join()
    }

    /// Runs `body` on the loop and waits for its result.
    @discardableResult
    func run<Result: Sendable>(
        _ location: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable (EventLoop) -> Result
    ) throws -> Result {
        let result = Channel<Result>()
        loop.execute { [loop] in result.put(body(loop)) }
        return try result.next(location)
    }
}
