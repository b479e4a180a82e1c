import HearthEventLoop
import Glibc
import HearthSystem

/// The end of a connection at a node that wants a copy of a database. For a thread that waits.
final class CopyReceiver {
    private let connection: WaitingConnection
    private let isWanted: () -> Bool
    private var codes: (out: FrameCodes, in: FrameCodes)
    private var input: [UInt8] = []

    private static let timeout = Duration.seconds(5)
    /// The other node says something at least this often.
    private static let silenceMax = Duration.seconds(10)
    private static let step = Duration.milliseconds(100)
    private static let messageBytesMax = 1 << 20

    /// Connects, and proves that this is a node of the cluster.
    init(
        _ own: PeerHandshake.Hello, _ secret: ClusterSecret, _ address: SocketAddress, tls: TLSContext? = nil,
        isWanted: @escaping () -> Bool
    ) throws(CopyFailure) {
        self.isWanted = isWanted
        do throws(WaitingConnection.Failure) {
            connection = try WaitingConnection(host: address.host, port: address.port, timeout: Self.timeout)
            if let tls { try connection.startTLS(tls, serverName: address.host) }
        } catch {
            throw CopyFailure(description: error.description)
        }
        var input: [UInt8] = []
        try Self.send(PeerHandshake.message(from: own), over: connection)
        let size = Self.number(try Self.take(4, &input, connection, isWanted))
        guard size <= Self.messageBytesMax else { throw Self.malformed }
        let message = try Self.take(size, &input, connection, isWanted)
        let called: PeerHandshake.Hello
        var secret = secret
        do throws(PeerHandshake.Failure) { called = try PeerHandshake.called(message[...], by: own, &secret) } catch {
            throw error == .wrongSecret
                ? CopyFailure(description: "it has another --cluster-secret") : Self.malformed
        }
        try Self.send(PeerHandshake.proof(of: own, to: called, secret), over: connection)
        let key = PeerHandshake.key(own, called, secret)
        codes = (FrameCodes(key: key, isOfCaller: true), FrameCodes(key: key, isOfCaller: false))
        self.input = input
    }

    /// Receives the whole copy. Answers its bytes.
    func receive(_ request: CopyRequest, to path: String) throws(CopyFailure) -> Int {
        let body = request.bytes
        try Self.send(body, code: codes.out.next(body[...]), over: connection)
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.failure("cannot write \(path)") }
        defer { close(file) }
        var byteCount = 0
        while true {
            switch try nextPiece() {
            case .refused(let reason): throw CopyFailure(description: reason)
            case .pending: continue
            case .bytes(let bytes):
                try Self.write(bytes, to: file, path)
                byteCount += bytes.count
            case .end: return byteCount
            }
        }
    }

    /// The bytes that the other node's files of a database take.
    func receiveSize(of database: String, epoch: UInt64) throws(CopyFailure) -> Int64 {
        let body = CopyRequest(sizeOf: database, epoch: epoch).bytes
        try Self.send(body, code: codes.out.next(body[...]), over: connection)
        var bytes: [UInt8] = []
        while true {
            switch try nextPiece() {
            case .refused(let reason): throw CopyFailure(description: reason)
            case .pending: continue
            case .bytes(let piece): bytes += piece
            case .end:
                guard bytes.count == 8 else { throw Self.malformed }
                return bytes.reduce(0) { $0 << 8 | Int64($1) }
            }
            guard bytes.count <= 8 else { throw Self.malformed }
        }
    }

    private func nextPiece() throws(CopyFailure) -> CopyPiece {
        let size = Self.number(try Self.take(4, &input, connection, isWanted))
        guard size <= Self.messageBytesMax else { throw Self.malformed }
        let code = try Self.take(FrameCodes.size, &input, connection, isWanted)
        let body = try Self.take(size, &input, connection, isWanted)
        guard codes.in.check(code[...], body[...]), let piece = CopyPiece(body[...]) else { throw Self.malformed }
        return piece
    }

    // MARK: Bytes

    private static func send(
        _ body: [UInt8], code: [UInt8] = [], over connection: WaitingConnection
    ) throws(CopyFailure) {
        let size = withUnsafeBytes(of: UInt32(body.count).bigEndian) { Array($0) }
        do throws(WaitingConnection.Failure) { try connection.send(size + code + body) } catch {
            throw CopyFailure(description: error.description)
        }
    }

    /// The next bytes, exactly so many.
    private static func take(
        _ count: Int, _ input: inout [UInt8], _ connection: WaitingConnection, _ isWanted: () -> Bool
    ) throws(CopyFailure) -> [UInt8] {
        var lastHeard = MonotonicTime.current
        while input.count < count {
            guard isWanted() else { throw CopyFailure(description: "this node stops") }
            let bytes: [UInt8]?
            do throws(WaitingConnection.Failure) {
                bytes = try connection.receive(maximum: 256 << 10, until: .current + step)
            } catch {
                throw CopyFailure(description: error.description)
            }
            if let bytes {
                if bytes.isEmpty { throw CopyFailure(description: "it has closed the connection") }
                lastHeard = .current
                input += bytes
            } else if MonotonicTime.current - lastHeard >= silenceMax {
                throw CopyFailure(description: "it does not answer")
            }
        }
        defer { input.removeFirst(count) }
        return Array(input.prefix(count))
    }

    private static func number(_ bytes: [UInt8]) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func write(_ bytes: [UInt8], to file: Int32, _ path: String) throws(CopyFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("cannot write \(path)") }
            written += count
        }
    }

    private static func failure(_ what: String) -> CopyFailure {
        CopyFailure(description: "\(what): \(String(cString: strerror(errno)))")
    }

    private static let malformed = CopyFailure(description: "it does not speak the protocol between nodes")
}
