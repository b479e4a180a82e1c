import Glibc
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthEtcdGateway
@testable import HearthEtcdMessages
@testable import HearthEventLoop
@testable import HearthSystem

/// A member of etcd that says what a test wants: for each connection a list of answers, one for each request.
final class ScriptedMember: Sendable {
    struct Request: Hashable, Sendable {
        var path: String
        var message: [UInt8]
    }

    enum Answer: Sendable {
        /// Bytes that depend on the stream of the request.
        case send(@Sendable (_ stream: UInt32) -> [UInt8])
        case sendLate(@Sendable (_ stream: UInt32) -> [UInt8], milliseconds: Int)
        /// Byte by byte, with a pause after each.
        case drip(@Sendable (_ stream: UInt32) -> [UInt8], milliseconds: Int)
        /// Read the request and say nothing.
        case silence
        case close
    }

    static let cluster: UInt64 = 7

    /// The header of a reply, as its first field.
    static func header(cluster: UInt64 = ScriptedMember.cluster) -> [UInt8] {
        var message = MessageWriter<EtcdReplyField>()
        message.message(.header, EtcdHeader.Field.self) {
            $0.integer(.cluster, Int64(cluster))
            $0.integer(.member, 1)
            $0.integer(.revision, 5)
            $0.integer(.raftTerm, 2)
        }
        return message.bytes
    }

    /// The whole response with one message.
    static func ok(_ message: [UInt8]) -> Answer { .send { response(message, stream: $0) } }

    static func response(_ message: [UInt8], stream: UInt32) -> [UInt8] {
        ScriptedFrame.head(200, stream: stream) + ScriptedFrame.data(GRPCMessages.framed(message), stream: stream)
            + ScriptedFrame.status(0, stream: stream)
    }

    /// A response without a message.
    static func error(_ code: Int, _ text: String) -> Answer {
        .send { ScriptedFrame.headers([(":status", "200")] + ScriptedFrame.statusFields(code, text), ends: true, $0) }
    }

    /// What every connection begins with.
    static func status(cluster: UInt64 = ScriptedMember.cluster, leader: Int64? = 1) -> Answer {
        .send { statusResponse(cluster: cluster, leader: leader, stream: $0) }
    }

    static func statusResponse(
        cluster: UInt64 = ScriptedMember.cluster, leader: Int64? = 1, stream: UInt32
    ) -> [UInt8] {
        var message = MessageWriter<EtcdStatus.ReplyField>()
        message.bytes(.version, Array("3.4.23".utf8))
        if let leader { message.integer(.leader, leader) }
        return response(header(cluster: cluster) + message.bytes, stream: stream)
    }

    let member: EtcdMember
    private let listener: Int32
    private let state: State
    private let thread: NamedThread

    private final class State: Sendable {
        let requests = Mutex<[Request]>([])
        let isEnding = Atomic(false)
    }

    /// In the order in which they came.
    var requests: [Request] { state.requests.withLock { $0 } }

    /// - parameter answersAtOnce: when the head of a request has come; requests then have no messages.
    init(_ connections: [[Answer]], answersAtOnce: Bool = false) throws {
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
                try? Self.serve(answers, answersAtOnce, peer, state)
            }
        }
    }

    deinit {
        state.isEnding.store(true, ordering: .releasing)
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
        close(listener)
    }

    private static func serve(
        _ answers: [Answer], _ answersAtOnce: Bool, _ peer: WaitingConnection, _ state: State
    ) throws {
        try peer.send(ScriptedFrame.settings)
        var reader = ScriptedRequestReader(readsHeadsOnly: answersAtOnce)
        for answer in answers {
            var next = try reader.next()
            while next == nil {
                let bytes = try peer.receive()
                if bytes.isEmpty { return }
                reader.feed(bytes)
                next = try reader.next()
            }
            guard let (request, stream) = next else { return }
            state.requests.withLock { $0.append(request) }
            switch answer {
            case .send(let bytes): try peer.send(bytes(stream))
            case .sendLate(let bytes, let milliseconds):
                poll(nil, 0, Int32(milliseconds))
                try peer.send(bytes(stream))
            case .drip(let bytes, let milliseconds):
                for byte in bytes(stream) {
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
}
