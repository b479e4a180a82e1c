package import HearthEventLoop
import Synchronization

/// A proxy between clients and a server that damages their connections, by seed: it passes bytes on in pieces of any
/// size and late, cuts connections between any two bytes, and at times cuts only the client's side, so that the server
/// has the old connection and the new one at once and gets late what the client sent before.
package final class FaultyProxy: Sendable {
    private let group: EventLoopGroup
    private let listener: Listener
    package let faults: Faults
    private let target: Target

    /// Where the server is.
    fileprivate final class Target: Sendable {
        let address: Mutex<SocketAddress>

        init(_ address: SocketAddress) { self.address = Mutex(address) }
    }

    /// What the connections do; any thread may calm them.
    package final class Faults: Sendable {
        fileprivate struct State {
            var random: SeededRandom
            var isCalm = false
            var cuts = 0
        }
        fileprivate let state: Mutex<State>

        fileprivate init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed))) }

        /// Connections that were cut.
        package var cuts: Int { state.withLock { $0.cuts } }

        /// From now on nothing is damaged.
        package func calm() { state.withLock { $0.isCalm = true } }

        fileprivate func noteCut() { state.withLock { $0.cuts += 1 } }

        /// Nil while it is calm.
        fileprivate func draw(_ range: ClosedRange<Int>) -> Int? {
            state.withLock { $0.isCalm ? nil : Int.random(in: range, using: &$0.random) }
        }
    }

    package init(to server: SocketAddress, seed: UInt64) throws {
        let faults = Faults(seed: seed)
        self.faults = faults
        let target = Target(server)
        self.target = target
        group = try EventLoopGroup(count: 1, name: "proxy")
        var options = Listener.Options()
        options.limits.hardLimit = .max
        options.limits.highWater = .max
        listener = try Listener(at: .loopback(port: 0), on: group, options: options) { stream in
            Pipe(stream, to: target.address.withLock { $0 }, faults).clientSide
        }
    }

    deinit {
        group.stop()
        group.join()
    }

    package var address: SocketAddress { listener.address }

    package var urlText: String { "ws://\(listener.address)" }

    /// New connections go to a server that has taken the place of the old one.
    package func redirect(to server: SocketAddress) { target.address.withLock { $0 = server } }
}

/// One client's connection and the one to the server that belongs to it. Lives on its loop.
private final class Pipe {
    let clientSide: Side
    private let faults: FaultyProxy.Faults
    /// Bytes that may still pass before the connection is cut.
    private var bytesLeft: Int

    init(_ client: Stream, to server: SocketAddress, _ faults: FaultyProxy.Faults) {
        self.faults = faults
        // Some end before anything useful is said, some get far.
        let most = [1000, 10_000, 60_000][faults.draw(0...2) ?? 0]
        bytesLeft = faults.draw(200...most) ?? .max
        let serverSide = Side()
        clientSide = Side()
        clientSide.begin(client, other: serverSide, pipe: self)
        var limits = StreamLimits()
        limits.hardLimit = .max
        limits.highWater = .max
        let stream = client.loop.connect(host: server.host, port: server.port, limits: limits, handler: serverSide)
        serverSide.begin(stream, other: clientSide, pipe: self)
    }

    /// How much of some bytes passes next, and after which time. Nothing: the connection is to be cut.
    func pass(_ count: Int) -> (count: Int, delay: Duration) {
        guard let delay = faults.draw(0...5), let most = faults.draw(1...4000) else { return (count, .zero) }
        let passing = min(count, bytesLeft, most)
        bytesLeft -= passing
        return (passing, .milliseconds(delay))
    }

    /// Ends the client's side, and the server's as well or later.
    func cut() {
        faults.noteCut()
        clientSide.stream?.abort()
        let delay = faults.draw(0...1) == 1 ? Duration.milliseconds(faults.draw(1...60) ?? 0) : .zero
        guard delay > .zero, let loop = clientSide.stream?.loop else {
            clientSide.other?.stream?.abort()
            return
        }
        let server = clientSide.other
        loop.schedule(after: delay) { server?.stream?.abort() }
    }

    final class Side: StreamHandler {
        private(set) var stream: Stream?
        private(set) var other: Side?
        private var pipe: Pipe?
        private var isOpen = false
        /// Data in transit to this side.
        private var waiting: [[UInt8]] = []
        private var isPassing = false
        private var isEnded = false

        func begin(_ stream: Stream, other: Side, pipe: Pipe) {
            self.stream = stream
            self.other = other
            self.pipe = pipe
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) { other?.add(Array(bytes)) }

        private func add(_ bytes: [UInt8]) {
            waiting.append(bytes)
            passNext()
        }

        private func passNext() {
            guard !isPassing, !waiting.isEmpty, let pipe, let stream else { return }
            isPassing = true
            let bytes = waiting.removeFirst()
            let (count, delay) = pipe.pass(bytes.count)
            if count == 0 { return pipe.cut() }
            if count < bytes.count { waiting.insert(Array(bytes[count...]), at: 0) }
            stream.loop.schedule(after: delay) { [self] in
                isPassing = false
                self.stream?.send(shared: bytes, 0..<count)
                if waiting.isEmpty, isEnded { self.stream?.close() }
                passNext()
            }
        }

        func receivedEnd(on stream: Stream) { stream.close() }

        func closed(_ stream: Stream, reason: CloseReason) {
            self.stream = nil
            if let other {
                other.isEnded = true
                if other.waiting.isEmpty, !other.isPassing { other.stream?.close() }
            }
            other = nil
            pipe = nil
        }
    }
}
