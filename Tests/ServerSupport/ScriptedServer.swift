package import HearthClient
package import HearthClientTransport
package import HearthMemoryTransport
import HearthHTTPCodec
import Synchronization
package import HearthWebSocketCodec
import HearthServerCodecs
import HearthWireProtocol

/// A server that says what the test wants: the WebSocket part is real, the rest a script.
package final class ScriptedServer: Sendable {
    /// What to do on the server's loop when things happen.
    package struct Script: Sendable {
        /// Answers the upgrade with these bytes instead of the handshake.
        package var refusal: [UInt8]?
        package var upgraded: @Sendable (Peer) -> Void
        /// A whole message, or a keep-alive, which is the text `0`.
        package var received: @Sendable (Peer, String) -> Void

        package init(
            refusal: [UInt8]? = nil, upgraded: @escaping @Sendable (Peer) -> Void = { $0.sayHello() },
            received: @escaping @Sendable (Peer, String) -> Void = { _, _ in }
        ) {
            self.refusal = refusal
            self.upgraded = upgraded
            self.received = received
        }
    }

    /// Where it is. Its short delays take no time.
    package let network: MemoryNetwork
    private let port: UInt16
    private let log: Log
    private let peers = Peers()
    private let clients = ClientsOfServer()
    private let loop: any ClientLoop
    /// For connections to it.
    package let clientLoop: any ClientLoop
    private static let ports = Atomic<UInt16>(1)

    private final class Peers: Sendable {
        private let peers = Mutex<[Peer]>([])

        func add(_ peer: Peer) { peers.withLock { $0.append(peer) } }

        var all: [Peer] { peers.withLock { $0 } }
    }

    /// What clients sent, and how they ended.
    package final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        private let added = AsyncStream.makeStream(of: String.self)

        package func add(_ line: String) {
            lines.withLock { $0.append(line) }
            added.continuation.yield(line)
        }

        package var all: [String] { lines.withLock { $0 } }

        /// Waits for a line with this beginning, among those not returned yet.
        package func next(_ prefix: String = "") async -> String? {
            for await line in added.stream where line.hasPrefix(prefix) { return line }
            return nil
        }
    }

    package static func makeNetwork() -> MemoryNetwork { MemoryNetwork(skippingDelaysUpTo: .seconds(5)) }

    package init(_ script: Script = Script(), in network: MemoryNetwork = makeNetwork()) {
        let log = Log()
        self.log = log
        self.network = network
        port = Self.ports.wrappingAdd(1, ordering: .relaxed).newValue
        let peers = peers
        let loop = network.startLoop(name: "script")
        (self.loop, clientLoop) = (loop, network.startLoop(name: "clients"))
        network.listen(at: "scripted", port: port) { stream in
            let peer = Peer(stream, on: loop, script, log)
            peers.add(peer)
            return peer
        }
    }

    deinit {
        network.stopListening(at: "scripted", port: port)
        let peers = peers
        loop.execute {
            for peer in peers.all { peer.stream.abort() }
        }
    }

    package var urlText: String { "ws://scripted:\(port)" }

    /// A client of its own, which ends with the server.
    package func client(_ configure: (inout DatabaseOptions) -> Void = { _ in }) throws -> Database {
        var options = DatabaseOptions.patient
        options.transport = network
        configure(&options)
        return clients.add(try Database(url: urlText, options: options))
    }

    /// The upgrade's target as `GET …`, then each message as it came, then `close CODE REASON`, `end`.
    package var heard: Log { log }
}

/// One connection of a scripted server. Used on its loop.
package final class Peer: ClientStreamHandler, @unchecked Sendable {
    // Safe because: a script is called in the network's order, and keeps to it.

    package let stream: any ClientStream
    package let loop: any ClientLoop
    package private(set) var hasEnded = false
    private let script: ScriptedServer.Script
    private let log: ScriptedServer.Log
    private var http: RequestDecoder? = RequestDecoder()
    private var decoder = WebSocketDecoder(
        role: .server, limits: .init(frameSizeMax: 64 << 20, messageSizeMax: 64 << 20))
    private var joiner = FrameJoiner(bytesMax: 64 << 20)

    package init(
        _ stream: any ClientStream, on loop: any ClientLoop, _ script: ScriptedServer.Script, _ log: ScriptedServer.Log
    ) {
        self.stream = stream
        self.loop = loop
        self.script = script
        self.log = log
    }

    package func sayHello() {
        send(#"{"t":"c","d":{"t":"h","d":{"ts":1700000000000,"v":"5","h":"test:1","s":"session"}}}"#)
    }

    package func send(_ message: String) {
        let bytes = Array(message.utf8)
        let chunks = bytes.withUnsafeBytes { MessageChunks.ranges(of: $0) }
        if chunks.count > 1 { sendFrame(String(chunks.count)) }
        for chunk in chunks { sendFrame(String(decoding: bytes[chunk], as: UTF8.self)) }
    }

    /// The answer to a request.
    package func answer(_ number: Int, _ data: String = #""""#, status: String = "ok") {
        send(#"{"t":"d","d":{"r":\#(number),"b":{"s":"\#(status)","d":\#(data)}}}"#)
    }

    /// The answer to a request that came as this text.
    package func answer(to text: String, _ data: String = "{}", status: String = "ok") {
        answer(Int(text.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0, data, status: status)
    }

    package func push(_ action: String, _ body: String) { send(#"{"t":"d","d":{"a":"\#(action)","b":\#(body)}}"#) }

    package func sendFrame(_ text: String, _ opcode: Opcode = .text, key: MaskingKey? = nil) {
        var frame: [UInt8] = []
        FrameEncoder.append(opcode, Array(text.utf8).span.bytes, key: key, to: &frame)
        stream.send(frame)
    }

    package func sendClose(_ code: UInt16, _ reason: String) {
        var frame: [UInt8] = []
        FrameEncoder.appendClose(CloseCode(rawValue: code), reason: reason, to: &frame)
        stream.send(frame)
    }

    package func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream) {
        var input = bytes
        if http != nil {
            var rest = UnsafeRawBufferPointer(bytes)
            readUpgrade(&rest)
            input = UnsafeMutableRawBufferPointer(rebasing: bytes[(bytes.count - rest.count)...])
        }
        while http == nil, let event = decoder.next(&input) {
            switch event {
            case .message(_, let frame): receive(frame)
            case .ping(let bytes): log.add("ping \(String(decoding: bytes, as: UTF8.self))")
            case .pong(let bytes): log.add("pong \(String(decoding: bytes, as: UTF8.self))")
            case .close(let code, let reason):
                log.add("close \(code?.rawValue ?? 0) \(String(decoding: reason, as: UTF8.self))")
                stream.close()
            case .failure(let violation): log.add("violation \(violation)")
            }
        }
    }

    private func readUpgrade(_ input: inout UnsafeRawBufferPointer) {
        while let event = http?.next(&input) {
            guard case .head(let head) = event else { continue }
            log.add(
                "GET \(String(decoding: head.path, as: UTF8.self))?\(String(decoding: head.query.bytes, as: UTF8.self))"
            )
            if let refusal = script.refusal {
                stream.send(refusal)
                return
            }
            do throws(HandshakeRefusal) {
                let handshake = try ServerHandshake(
                    method: Array(head.methodName), version: (1, head.minorVersion), deflate: nil
                ) { head.headers.combined($0) }
                stream.send(handshake.response)
                // The request has no body, so its end follows at once.
                _ = http?.next(&input)
                http = nil
                script.upgraded(self)
            } catch {
                stream.send(error.response)
            }
        }
    }

    private func receive(_ frame: UnsafeRawBufferPointer) {
        var message = Array(frame)
        switch joiner.add(frame) {
        case .message: break
        case .joined: message = joiner.takeMessage()
        case .more where message == [UInt8(ascii: "0")]: break
        case .more, .tooLarge: return
        }
        let text = String(decoding: message, as: UTF8.self)
        // First: who waits for the text may ask what was made of it.
        script.received(self, text)
        log.add(text)
    }

    package func closed(_ stream: any ClientStream, because end: ClientStreamEnd) {
        hasEnded = true
        log.add("end")
    }
}
