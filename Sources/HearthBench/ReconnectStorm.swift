/// Clients that listen to rooms, lose their connections all at once, and reconnect as fast as they can, while a writer
/// continues. Each room counts its changes, so every client can tell that it has the last one when it is back, and then
/// gets each one once and in order.
struct ReconnectStorm {
    static let rooms = 100
    static let objects = 100
    /// Changes of each room while the clients are away.
    static let missed = 10
    private static let writesInFlight = 16
    /// Clients that come back at the same time, before messages for others are looked at.
    private static let opensPerTurn = 64
    private static let roomBase = 1_000

    struct Outcome {
        /// From the first client that comes back on.
        var measurement: Measurement
        /// From the loss of the connections until all clients are back.
        var secondsSinceLoss: Double
        var bytesPerClient: Double
        var writesPerSecond: Double
    }

    private struct Client {
        var scanner = FrameScanner()
        /// The number of the room's change that comes next, as of the beginning.
        var next = 0
        var begun: Int64 = 0
        var isBack = false
    }

    /// Of the writer.
    private let target: Target
    /// Where the clients are at first, and where they come back, in turn.
    private let first: Target
    private let places: [Target]
    private let resumes: Bool
    private let writer: WebSocketLoad
    private var writerScanner = FrameScanner()
    private var write = FrameTemplate(
        #"{"t":"d","d":{"r":##########,"a":"p","b":{"p":"/bench/rooms/####/n","d":##########}}}"#)
    private let written = ReplyShape(data: #""""#, hasContent: true)
    private var writesSent = 0
    private var writesAnswered = 0
    private var clients: [Client]
    /// Where each client was when it lost its connection.
    private var positions: [[UInt8]]
    private var latency = LatencyHistogram()
    private var back = 0
    private var bytes = 0

    /// - parameters:
    ///   - first: where the clients are at first; nil for the target, which the writer uses.
    ///   - places: where they come back, in turn; nil for the target.
    init(
        _ target: Target, clients count: Int, resumes: Bool, from first: Target? = nil, to places: [Target]? = nil
    ) throws(BenchError) {
        self.target = target
        self.first = first ?? target
        self.places = places ?? [target]
        self.resumes = resumes
        var bulk = try BulkLoad(target)
        let object = SmallObject.text(number: "\(RequestNumber.base)")
        let objects = (0..<Self.objects).map { #""\#(Self.roomBase + $0)":\#(object)"# }.joined(separator: ",")
        try bulk.update(
            "/bench/rooms",
            (0..<Self.rooms).lazy.map {
                Array(#"{"\#(Self.roomBase + $0)":{\#(objects),"n":\#(RequestNumber.base)}}"#.utf8)
            })
        writer = try WebSocketLoad(target)
        try writer.open(1)
        clients = Array(repeating: Client(), count: count)
        positions = Array(repeating: [], count: count)
    }

    /// - parameter lose: ends what the clients are connected to.
    mutating func run(lose: () -> Void = {}) throws(BenchError) -> Outcome {
        let lostAt = try listenOnce(then: lose)
        // All connections are lost; the rooms go on.
        for _ in 0..<Self.missed * Self.rooms { try keepWriting(through: Self.missed * Self.rooms) }
        while writesAnswered < Self.missed * Self.rooms {
            try keepWriting(through: Self.missed * Self.rooms, wait: 100)
        }
        var probe = UsageProbe(target)
        let start = Clock.now
        let writesBefore = writesAnswered
        probe.begin(at: start)
        let load = try WebSocketLoad(target)
        while load.count < clients.count {
            try comeBack(min(Self.opensPerTurn, clients.count - load.count), on: load)
            _ = try load.turn(timeoutMilliseconds: 0) { (client, bytes) throws(BenchError) in try take(bytes, client) }
            try keepWriting(through: .max)
        }
        while back < clients.count {
            _ = try load.turn(timeoutMilliseconds: 1) { (client, bytes) throws(BenchError) in try take(bytes, client) }
            try keepWriting(through: .max)
        }
        let measurement = probe.measurement(operations: clients.count, latency: latency)
        let writes = writesAnswered - writesBefore
        let received = bytes
        while writesAnswered < writesSent { try keepWriting(through: 0, wait: 100) }
        // Each write goes to all clients.
        while let behind = clients.indices.first(where: { clients[$0].next < changes(of: $0) }) {
            try load.turn { (client, bytes) throws(BenchError) in try take(bytes, client) }
            if clients[behind].next > changes(of: behind) { throw BenchError("client \(behind) got a change twice") }
        }
        return Outcome(
            measurement: measurement,
            secondsSinceLoss: measurement.seconds + Double(start - lostAt) / 1e9,
            bytesPerClient: Double(received) / Double(clients.count),
            writesPerSecond: Double(writes) / measurement.seconds)
    }

    /// Changes of the client's room, up to now.
    private func changes(of client: Int) -> Int {
        let room = client % Self.rooms
        return writesSent / Self.rooms + (room < writesSent % Self.rooms ? 1 : 0)
    }

    private static func listen(to room: Int, _ rest: String) -> [UInt8] {
        FrameTemplate.frame(
            Array(#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/bench/rooms/\#(roomBase + room)",\#(rest)}}}"#.utf8))
    }

    /// The clients' first connections, until each knows where it is. Answers when they are lost.
    private mutating func listenOnce(then lose: () -> Void) throws(BenchError) -> Int64 {
        let load = try WebSocketLoad(first)
        let hash = #""h":"","since":"""#
        var missing = clients.count
        for first in stride(from: 0, to: clients.count, by: 256) {
            let last = min(first + 256, clients.count)
            try load.open(last - first)
            for client in first..<last { try load.send(Self.listen(to: client % Self.rooms, hash), on: client) }
            while missing > clients.count - last {
                try load.turn { (client, bytes) throws(BenchError) in
                    try clients[client].scanner.scan(bytes) { (payload) throws(BenchError) in
                        guard let position = Self.position(in: payload) else { return }
                        positions[client] = position
                        missing -= 1
                    }
                }
            }
        }
        for client in clients.indices { clients[client].scanner = FrameScanner() }
        let lostAt = Clock.now
        lose()
        return lostAt
    }

    /// That of an answer.
    private static func position(in payload: UnsafeRawBufferPointer) -> [UInt8]? {
        let text = Array(payload)
        guard isAnswer(payload), let comma = text.lastIndex(of: UInt8(ascii: ",")) else { return nil }
        // `,"pos":"…"}}}}`
        return Array(text[(comma + 8)...].dropLast(5))
    }

    private static let answer = Array(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{"#.utf8)
    private static let push = Array(#"{"t":"d","d":{"a":"d","b":{"p":"bench/rooms/"#.utf8)
    private static let count = Array(#"/n","d":"#.utf8)

    private static func isAnswer(_ payload: UnsafeRawBufferPointer) -> Bool {
        payload.prefix(answer.count).elementsEqual(answer)
    }

    private mutating func comeBack(_ count: Int, on load: WebSocketLoad) throws(BenchError) {
        let coming = load.count..<load.count + count
        for client in coming { clients[client].begun = Clock.now }
        // Each wave goes to the next place.
        try load.open(count, at: places[coming.lowerBound / Self.opensPerTurn % places.count])
        for client in coming {
            let rest = resumes ? #""since":"\#(String(decoding: positions[client], as: UTF8.self))""# : #""h":"""#
            try load.send(Self.listen(to: client % Self.rooms, rest), on: client)
        }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ index: Int) throws(BenchError) {
        self.bytes += bytes.count
        var client = Client()
        swap(&client, &clients[index])
        defer { swap(&client, &clients[index]) }
        var scanner = FrameScanner()
        swap(&scanner, &client.scanner)
        defer { swap(&scanner, &client.scanner) }
        try scanner.scan(bytes) { (payload) throws(BenchError) in
            if Self.isAnswer(payload) {
                let expected = resumes ? #"{"recovered":true"# : "{}"
                guard payload.dropFirst(Self.answer.count - 1).prefix(expected.utf8.count).elementsEqual(expected.utf8)
                else { throw BenchError("a listen got \(String(decoding: payload, as: UTF8.self))") }
                client.isBack = true
                back += 1
                latency.add(nanoseconds: Clock.now - client.begun)
                return
            }
            let number = try Self.number(in: payload)
            let isExpected = client.isBack ? number == client.next : number >= client.next
            guard isExpected else {
                throw BenchError("client \(index) was to get change \(client.next) of its room and got \(number)")
            }
            client.next = number + 1
        }
    }

    /// The number of the change that a push tells of, or the next one's less one that a whole room has.
    private static func number(in payload: UnsafeRawBufferPointer) throws(BenchError) -> Int {
        let place = push.count + 4
        guard payload.count >= place + count.count + 13, payload.prefix(push.count).elementsEqual(push) else {
            throw BenchError("a client got \(String(decoding: payload.prefix(200), as: UTF8.self))")
        }
        let isCount = payload.dropFirst(place).prefix(count.count).elementsEqual(count)
        // Of a whole room, the counter comes last.
        let start = isCount ? place + count.count : payload.count - 14
        var number = 0
        for digit in start..<start + 10 { number = number &* 10 &+ Int(payload[digit] &- 0x30) }
        // The rooms begin with the base, and their first change is the next number.
        return number - RequestNumber.base - 1
    }

    /// Sends as many writes as may be in flight, up to a total number, and takes answers.
    private mutating func keepWriting(through count: Int, wait: Int32 = 0) throws(BenchError) {
        while writesSent < count, writesSent - writesAnswered < Self.writesInFlight {
            write.fill(0, number: RequestNumber.base + writesSent)
            write.fill(1, number: Self.roomBase + writesSent % Self.rooms)
            write.fill(2, number: RequestNumber.base + writesSent / Self.rooms + 1)
            try writer.send(write.bytes, on: 0)
            writesSent += 1
        }
        _ = try writer.turn(timeoutMilliseconds: wait) { (_, bytes) throws(BenchError) in
            var scanner = FrameScanner()
            swap(&scanner, &writerScanner)
            try scanner.scan(bytes) { (payload) throws(BenchError) in
                guard written.matches(payload, number: RequestNumber.base + writesAnswered) else {
                    throw BenchError("a write got \(String(decoding: payload.prefix(200), as: UTF8.self))")
                }
                writesAnswered += 1
            }
            swap(&scanner, &writerScanner)
        }
    }
}
