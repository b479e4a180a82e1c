import Glibc

/// The requests of a ``RequestLoad``.
package protocol RequestSource {
    associatedtype Replies: ReplyFormat = WebSocketFrames

    /// Appends the frame of one request. `index` counts the requests of a connection from 0; its number on the wire is
    /// ``RequestNumber``.
    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8])

    /// The form of the answer.
    var reply: ReplyShape { get }
}

/// Requests are numbered from here, so that all numbers have ten digits.
package enum RequestNumber {
    package static let base = 1_000_000_000
}

/// Keeps a fixed number of requests in flight on each connection: each answer makes room for the next request. Checks
/// that every request is answered once, in order and with success.
struct RequestLoad<Source: RequestSource> {
    private let load: WebSocketLoad
    private var source: Source
    private let reply: ReplyShape
    private let inFlight: Int

    private struct Line {
        var sent = 0
        var answered = 0
        var scanner = ReplyScanner<Source.Replies>()
    }

    private var lines: [Line]
    /// When the requests in flight were sent, a ring of `inFlight` for each connection.
    private var sentAt: [Int64]
    private var output: [UInt8] = []
    private var outstanding = 0
    private var answered = 0
    private var latency = LatencyHistogram()
    private var isMeasuring = false

    enum Length {
        /// Measures for so long, after a warm-up.
        case seconds(Double, warmUp: Double)
        /// Measures bursts of all requests that may be in flight, after a warm-up. One begins at each multiple of the
        /// interval, but not before all of the last one are answered.
        case bursts(interval: Double, seconds: Double, warmUp: Double)
        /// Measures from the first request to the last answer.
        case requests(Int)
    }

    init(_ load: WebSocketLoad, _ source: Source, inFlight: Int) {
        self.load = load
        self.source = source
        self.inFlight = inFlight
        reply = source.reply
        lines = Array(repeating: Line(), count: load.count)
        sentAt = Array(repeating: 0, count: load.count * inFlight)
    }

    /// Runs the load, and waits for the answers that are still due at its end.
    mutating func run(_ length: Length, _ probe: inout UsageProbe) throws(BenchError) -> Measurement {
        switch length {
        case .seconds(let seconds, let warmUp):
            try start(atMost: .max)
            try keepUp(until: Clock.now + Int64(warmUp * 1e9), &probe)
            begin(&probe)
            try keepUp(until: Clock.now + Int64(seconds * 1e9), &probe)
            let measurement = probe.measurement(operations: answered, latency: latency)
            isMeasuring = false
            try finish()
            return measurement
        case .bursts(let interval, let seconds, let warmUp):
            try bursts(interval, until: Clock.now + Int64(warmUp * 1e9), &probe)
            begin(&probe)
            try bursts(interval, until: Clock.now + Int64(seconds * 1e9), &probe)
            isMeasuring = false
            return probe.measurement(operations: answered, latency: latency)
        case .requests(let count):
            begin(&probe)
            try start(atMost: count)
            while answered < count {
                probe.sample(at: Clock.now)
                try turn(atMost: count)
            }
            return probe.measurement(operations: answered, latency: latency)
        }
    }

    private mutating func begin(_ probe: inout UsageProbe) {
        answered = 0
        latency = LatencyHistogram()
        isMeasuring = true
        probe.begin(at: Clock.now)
    }

    private mutating func start(atMost count: Int) throws(BenchError) {
        for connection in lines.indices {
            let now = Clock.now
            try send(min(inFlight, count - outstanding), on: connection, at: now)
        }
    }

    private mutating func keepUp(until end: Int64, _ probe: inout UsageProbe) throws(BenchError) {
        while true {
            let now = Clock.now
            if isMeasuring { probe.sample(at: now) }
            if now >= end { return }
            try turn(atMost: .max)
        }
    }

    private mutating func bursts(
        _ interval: Double, until end: Int64, _ probe: inout UsageProbe
    ) throws(BenchError) {
        var next = Clock.now
        while next < end {
            while Clock.now < next { usleep(UInt32(max(next - Clock.now, 0) / 1000 + 1)) }
            if isMeasuring { probe.sample(at: Clock.now) }
            try start(atMost: .max)
            try finish()
            next = max(next + Int64(interval * 1e9), Clock.now)
        }
    }

    private mutating func finish() throws(BenchError) {
        while outstanding > 0 { try turn(atMost: 0) }
    }

    /// Takes answers, and sends as many new requests, up to a total number.
    private mutating func turn(atMost count: Int) throws(BenchError) {
        try load.turn { (connection, bytes) throws(BenchError) in
            let now = Clock.now
            let answers = try take(bytes, on: connection, at: now)
            outstanding -= answers
            answered += answers
            try send(min(answers, max(0, count - answered - outstanding)), on: connection, at: now)
        }
    }

    private mutating func take(
        _ bytes: UnsafeRawBufferPointer, on connection: Int, at now: Int64
    ) throws(BenchError) -> Int {
        let first = lines[connection].answered
        var next = first
        var scanner = ReplyScanner<Source.Replies>()
        swap(&scanner, &lines[connection].scanner)
        try scanner.scan(bytes) { (payload) throws(BenchError) in
            guard reply.matches(payload, number: RequestNumber.base + next) else {
                throw BenchError(
                    """
                    request \(RequestNumber.base + next) of connection \(connection) was answered with \
                    \(String(decoding: payload.prefix(200), as: UTF8.self))
                    """)
            }
            if isMeasuring { latency.add(nanoseconds: now - sentAt[connection * inFlight + next % inFlight]) }
            next += 1
        }
        swap(&scanner, &lines[connection].scanner)
        lines[connection].answered = next
        guard next <= lines[connection].sent else {
            throw BenchError("connection \(connection) got an answer to a request that was not sent")
        }
        return next - first
    }

    private mutating func send(_ count: Int, on connection: Int, at now: Int64) throws(BenchError) {
        guard count > 0 else { return }
        output.removeAll(keepingCapacity: true)
        let first = lines[connection].sent
        for index in first..<first + count {
            source.append(index, connection: connection, to: &output)
            sentAt[connection * inFlight + index % inFlight] = now
        }
        lines[connection].sent += count
        outstanding += count
        try load.send(output, on: connection)
    }
}
