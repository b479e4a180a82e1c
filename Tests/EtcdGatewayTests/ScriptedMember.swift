import Glibc
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthEtcdGateway
@testable import HearthEventLoop
@testable import HearthSystem

/// A member of etcd that says what a test wants: for each connection a list of answers, one for each request.
final class ScriptedMember: Sendable {
    enum Answer: Sendable {
        case send(String)
        case sendLate(String, milliseconds: Int)
        /// Byte by byte, with a pause after each.
        case drip(String, milliseconds: Int)
        /// Read the request and say nothing.
        case silence
        case close
    }

    static let cluster = "7"
    static let header = #""header":{"cluster_id":"7","member_id":"1","revision":"5","raft_term":"2"}"#

    /// A response with `Content-Length`, as successes have.
    static func ok(_ body: String) -> Answer { .send(okText(body)) }

    static func okText(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// A chunked response with a trailer, as errors have.
    static func error(_ status: String, _ body: String) -> Answer {
        let count = String(body.utf8.count, radix: 16)
        return .send(
            "HTTP/1.1 \(status)\r\nTrailer: Grpc-Trailer-Content-Type\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(count)\r\n\(body)\r\n0\r\nGrpc-Trailer-Content-Type: application/grpc\r\n\r\n")
    }

    /// What every connection begins with.
    static func status(cluster: String = ScriptedMember.cluster, leader: String? = "1") -> Answer {
        ok(
            #"{"header":{"cluster_id":"\#(cluster)","member_id":"1","raft_term":"2"},"version":"3.4.23""#
                + (leader.map { #","leader":"\#($0)""# } ?? "") + "}")
    }

    let member: EtcdMember
    private let listener: Int32
    private let state: State
    private let thread: NamedThread

    private final class State: Sendable {
        let requests = Mutex<[String]>([])
        let isEnding = Atomic(false)
    }

    /// Requests in the order in which they came, each from its first line to the end of its body.
    var requests: [String] { state.requests.withLock { $0 } }

    init(_ connections: [[Answer]]) throws {
        let (descriptor, port) = try LoopbackSocket.listen(backlog: 5)
        listener = descriptor
        member = EtcdMember(host: "127.0.0.1", port: port)
        let state = State()
        self.state = state
        thread = try NamedThread(name: "etcd") {
            for answers in connections {
                let socket = accept(descriptor, nil, nil)
                if socket < 0 || state.isEnding.load(ordering: .acquiring) { break }
                let peer = WaitingConnection(descriptor: socket, timeout: .seconds(60))
                try? Self.serve(answers, peer, state)
            }
        }
    }

    deinit {
        state.isEnding.store(true, ordering: .releasing)
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
        close(listener)
    }

    private static func serve(_ answers: [Answer], _ peer: WaitingConnection, _ state: State) throws {
        var received = ""
        for answer in answers {
            guard let request = try read(peer, &received) else { return }
            state.requests.withLock { $0.append(request) }
            switch answer {
            case .send(let text): try peer.send(Array(text.utf8))
            case .sendLate(let text, let milliseconds):
                poll(nil, 0, Int32(milliseconds))
                try peer.send(Array(text.utf8))
            case .drip(let text, let milliseconds):
                for byte in text.utf8 {
                    try peer.send([byte])
                    poll(nil, 0, Int32(milliseconds))
                }
            case .silence: break
            case .close: return
            }
        }
        // Until the client hangs up.
        while try !peer.receive().isEmpty {}
    }

    private static func read(_ peer: WaitingConnection, _ received: inout String) throws -> String? {
        while true {
            if let end = received.firstRange(of: "\r\n\r\n") {
                let head = received[..<end.lowerBound]
                let length =
                    head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
                    .flatMap { Int($0.dropFirst("Content-Length: ".count)) } ?? 0
                if received[end.upperBound...].utf8.count >= length {
                    let request = received
                    received = ""
                    return request
                }
            }
            let bytes = try peer.receive()
            if bytes.isEmpty { return nil }
            received += String(decoding: bytes, as: UTF8.self)
        }
    }
}
