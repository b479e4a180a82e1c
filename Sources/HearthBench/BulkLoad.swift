/// Sends a series of large requests on one connection, a few in flight, to fill a database.
struct BulkLoad {
    private static let inFlight = 4

    private let load: WebSocketLoad
    private var scanner = FrameScanner()
    private var answered = 0

    init(_ target: Target) throws(BenchError) {
        load = try WebSocketLoad(target)
        try load.open(1)
    }

    /// Writes `{"<key>":<value>,…}` objects as updates of one path, one request for each object.
    mutating func update(_ path: String, _ objects: some Sequence<[UInt8]>) throws(BenchError) {
        try write("m", path, objects)
    }

    mutating func remove(_ path: String) throws(BenchError) { try write("p", path, [Array("null".utf8)]) }

    private mutating func write(
        _ action: String, _ path: String, _ values: some Sequence<[UInt8]>
    ) throws(BenchError) {
        let reply = ReplyShape(data: #""""#, hasContent: true)
        var sent = answered
        for value in values {
            while sent - answered >= Self.inFlight { try turn(reply) }
            let head = #"{"t":"d","d":{"r":\#(RequestNumber.base + sent),"a":"\#(action)","b":{"p":"\#(path)","d":"#
            try load.send(FrameTemplate.frame(Array(head.utf8) + value + Array("}}}".utf8)), on: 0)
            sent += 1
        }
        while answered < sent { try turn(reply) }
    }

    private mutating func turn(_ reply: ReplyShape) throws(BenchError) {
        try load.turn { (_, bytes) throws(BenchError) in
            var scanner = FrameScanner()
            swap(&scanner, &self.scanner)
            try scanner.scan(bytes) { (payload) throws(BenchError) in
                guard reply.matches(payload, number: RequestNumber.base + answered) else {
                    throw BenchError("an update failed: \(String(decoding: payload.prefix(200), as: UTF8.self))")
                }
                answered += 1
            }
            swap(&scanner, &self.scanner)
        }
    }
}
