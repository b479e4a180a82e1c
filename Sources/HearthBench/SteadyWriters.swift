import CHearthLinux
import Glibc

/// Writers at several nodes, each with one write in flight, that outlast the loss of their connections: the view of
/// clients while a cluster changes.
final class SteadyWriters {
    private struct Writer {
        let address: IPv4Address
        let number: Int
        /// Negative while there is no connection.
        var descriptor: Int32 = -1
        var scanner = FrameScanner()
        /// Numbers of requests begin with the base on each connection.
        var request = RequestNumber.base
        var sentAt: Int64 = 0
        var acknowledgedAt: Int64
        /// When the last write that was acknowledged had been sent.
        var acknowledgedSentAt: Int64 = 0
    }

    private var writers: [Writer]
    /// Writes with an answer, and those that were refused, of all writers.
    private(set) var acknowledged = 0
    private(set) var refused = 0
    private(set) var lostConnections = 0
    /// Of any writer, between two acknowledgements, in nanoseconds.
    private(set) var longestPause: Int64 = 0

    private var frame = FrameTemplate(
        #"{"t":"d","d":{"r":##########,"a":"p","b":{"p":"/bench/steady/####","d":##########}}}"#)
    private let reply = ReplyShape(data: #""""#, hasContent: true)
    private static let answer = Array(#"{"t":"d","d":{"r":"#.utf8)

    init(_ targets: [Target]) {
        let now = Clock.now
        writers = targets.enumerated().map { Writer(address: $1.address, number: $0, acknowledgedAt: now) }
    }

    deinit { for writer in writers where writer.descriptor >= 0 { close(writer.descriptor) } }

    /// Forgets the pauses and failures up to now.
    func beginMeasuring() {
        (acknowledged, refused, lostConnections, longestPause) = (0, 0, 0, 0)
        let now = Clock.now
        for index in writers.indices { writers[index].acknowledgedAt = now }
    }

    /// Writes for so long.
    func run(seconds: Double) throws(BenchError) {
        let end = Clock.now + Int64(seconds * 1e9)
        while Clock.now < end { try turn() }
    }

    /// Whether every writer has the acknowledgement of a write that it has sent since then.
    func haveWritten(since time: Int64) -> Bool { writers.allSatisfy { $0.acknowledgedSentAt > time } }

    /// Connects those without a connection, and takes the answers of a few milliseconds.
    func turn() throws(BenchError) {
        for index in writers.indices where writers[index].descriptor < 0 { connect(index) }
        var waiting = writers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        guard poll(&waiting, nfds_t(waiting.count), 5) >= 0 || errno == EINTR else {
            throw BenchError("wait for sockets", code: -Int(errno))
        }
        for index in writers.indices where waiting[index].revents != 0 && writers[index].descriptor >= 0 {
            try receive(index)
        }
    }

    private func connect(_ index: Int) {
        // A node that has no connection for it is asked again in the next turn.
        guard let descriptor = try? WebSocketOpening.open(writers[index].address, indices: 0..<1).first else { return }
        writers[index].descriptor = descriptor
        writers[index].scanner = FrameScanner()
        writers[index].request = RequestNumber.base
        send(index)
    }

    private func send(_ index: Int) {
        frame.fill(0, number: writers[index].request)
        frame.fill(1, number: writers[index].number)
        frame.fill(2, number: writers[index].request)
        writers[index].sentAt = Clock.now
        let bytes = frame.bytes
        if linux_send(writers[index].descriptor, bytes, bytes.count) != bytes.count { lose(index) }
    }

    private func lose(_ index: Int) {
        close(writers[index].descriptor)
        writers[index].descriptor = -1
        lostConnections += 1
    }

    private func receive(_ index: Int) throws(BenchError) {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = linux_receive(writers[index].descriptor, &bytes, bytes.count)
        if count == -Int(EAGAIN) { return }
        guard count > 0 else { return lose(index) }
        var scanner = writers[index].scanner
        var answers = 0
        try bytes.span.withUnsafeBytes { (bytes) throws(BenchError) in
            try scanner.scan(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { payload in
                // Other messages say that the connection ends.
                guard payload.starts(with: Self.answer) else { return }
                answers += 1
                note(reply.matches(payload, number: writers[index].request), index)
            }
        }
        writers[index].scanner = scanner
        guard answers <= 1 else { throw BenchError("a writer got \(answers) answers to one write") }
        guard answers == 1 else { return }
        writers[index].request += 1
        send(index)
    }

    private func note(_ isSuccess: Bool, _ index: Int) {
        guard isSuccess else {
            refused += 1
            return
        }
        let now = Clock.now
        acknowledged += 1
        longestPause = max(longestPause, now - writers[index].acknowledgedAt)
        writers[index].acknowledgedAt = now
        writers[index].acknowledgedSentAt = writers[index].sentAt
    }
}
