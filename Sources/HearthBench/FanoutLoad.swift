/// One connection writes, all others listen. Sends changes in bursts, the next one when every listener has all of the
/// last and the writer its answers. Checks that every listener gets every change once and in order.
struct FanoutLoad {
    /// Where a change carries its number: ten digits, so many bytes before the end of the payload.
    static let numberTail = 4
    private static let digits = 10

    private let load: WebSocketLoad
    private let reply: ReplyShape
    private let pushSize: Int
    private let burst: Int
    private var frame: FrameTemplate

    private static let writer = 0
    private var scanners: [FrameScanner]
    /// Changes that each connection got, or for the writer answers, over all bursts.
    private var received: [Int]
    private var sent = 0
    private var missing = 0
    private var output: [UInt8] = []
    private var latency = LatencyHistogram()

    /// Connection 0 of the load is the writer. The frame's first field is the request number, its second the number of
    /// the change.
    init(_ load: WebSocketLoad, frame: FrameTemplate, reply: ReplyShape, pushSize: Int, burst: Int) {
        self.load = load
        self.frame = frame
        self.reply = reply
        self.pushSize = pushSize
        self.burst = burst
        scanners = Array(repeating: FrameScanner(), count: load.count)
        received = Array(repeating: 0, count: load.count)
    }

    /// Measures for so long; operations are deliveries, latencies those from a change's sending to its last listener.
    mutating func run(seconds: Double, warmUp: Double, _ probe: inout UsageProbe) throws(BenchError) -> Measurement {
        try send(until: Clock.now + Int64(warmUp * 1e9), &probe)
        latency = LatencyHistogram()
        let first = sent
        probe.begin(at: Clock.now)
        try send(until: Clock.now + Int64(seconds * 1e9), &probe)
        return probe.measurement(operations: (sent - first) * (load.count - 1), latency: latency)
    }

    /// At least one burst.
    private mutating func send(until end: Int64, _ probe: inout UsageProbe) throws(BenchError) {
        repeat {
            let start = Clock.now
            probe.sample(at: start)
            try sendBurst()
            let took = Clock.now - start
            for _ in 0..<burst { latency.add(nanoseconds: took) }
        } while Clock.now < end
    }

    private mutating func sendBurst() throws(BenchError) {
        output.removeAll(keepingCapacity: true)
        for number in sent..<sent + burst {
            frame.fill(0, number: RequestNumber.base + number)
            frame.fill(1, number: RequestNumber.base + number)
            output.append(contentsOf: frame.bytes)
        }
        sent += burst
        missing = burst * load.count
        try load.send(output, on: Self.writer)
        while missing > 0 {
            try load.turn { (connection, bytes) throws(BenchError) in try take(bytes, on: connection) }
        }
    }

    @inline(__always)
    private mutating func take(_ bytes: UnsafeRawBufferPointer, on connection: Int) throws(BenchError) {
        let first = received[connection]
        var next = first
        var scanner = FrameScanner()
        swap(&scanner, &scanners[connection])
        try scanner.scan(bytes) { (payload) throws(BenchError) in
            let number = RequestNumber.base + next
            let isExpected =
                connection == Self.writer
                ? reply.matches(payload, number: number) : isChange(payload, number: number)
            guard isExpected else {
                throw BenchError(
                    """
                    connection \(connection) was to get change \(next) and got \
                    \(String(decoding: payload.prefix(200), as: UTF8.self))
                    """)
            }
            next += 1
        }
        swap(&scanner, &scanners[connection])
        received[connection] = next
        missing -= next - first
    }

    @inline(__always)
    private func isChange(_ payload: UnsafeRawBufferPointer, number: Int) -> Bool {
        guard payload.count == pushSize else { return false }
        let end = payload.count - Self.numberTail
        var found = 0
        for place in end - Self.digits..<end { found = found &* 10 &+ Int(payload[place] &- 0x30) }
        return found == number
    }
}
