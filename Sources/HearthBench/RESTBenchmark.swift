/// Small objects over REST: one request at a time on each connection, which stays open. For comparison, the same over
/// WebSocket connections.
struct RESTBenchmark {
    let stage: Stage

    private enum Kind: String, CaseIterable {
        case webSocketReads = "reads over WebSocket"
        case reads = "reads over REST"
        case webSocketWrites = "writes over WebSocket"
        case writes = "writes over REST"
    }

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        var measurements: [Kind: [Measurement]] = [:]
        for round in 0..<settings.rounds {
            // None always comes first.
            for kind in round.isMultiple(of: 2) ? Kind.allCases : Kind.allCases.reversed() {
                measurements[kind, default: []].append(try measure(kind))
            }
        }
        func rounds(_ kind: Kind) -> [Measurement] { measurements[kind] ?? [] }
        return [
            BenchResult(
                benchmark: "rest", title: "small objects, \(settings.connections) connections, 1 in flight each",
                parameters: [
                    ("object", "60 bytes"), ("durability", settings.durability), ("rounds", "\(settings.rounds)"),
                    ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: Kind.allCases.map { .init(target: "hearth", unit: $0.rawValue, rounds: rounds($0)) },
                findings: [
                    .ratio(
                        "CPU time per read, REST over WebSocket", rounds(.reads), over: rounds(.webSocketReads), nil
                    ) { $0.cpuPerMillion ?? 0 },
                    .ratio(
                        "CPU time per write, REST over WebSocket", rounds(.writes), over: rounds(.webSocketWrites), nil
                    ) { $0.cpuPerMillion ?? 0 },
                ])
        ]
    }

    private func measure(_ kind: Kind) throws(BenchError) -> Measurement {
        let actor = try stage.server()
        defer { actor.leave() }
        var bulk = try BulkLoad(actor.target)
        for connection in 0..<stage.settings.connections {
            try bulk.update("/bench/\(ObjectSets.keyBase + connection)", [ObjectGets.objects()])
        }
        let load = try WebSocketLoad(actor.target)
        try load.open(stage.settings.connections, upgrades: kind == .webSocketReads || kind == .webSocketWrites)
        var probe = UsageProbe(actor.target)
        func run(_ source: some RequestSource) throws(BenchError) -> Measurement {
            var requests = RequestLoad(load, source, inFlight: 1)
            return try requests.run(.seconds(stage.settings.seconds, warmUp: stage.settings.warmUp), &probe)
        }
        return switch kind {
        case .webSocketReads: try run(ObjectGets(isFloor: false))
        case .reads: try run(RESTRequests.gets)
        case .webSocketWrites: try run(ObjectSets(isFloor: false))
        case .writes: try run(RESTRequests.puts)
        }
    }
}

/// Requests over REST, which differ in their fields.
struct RESTRequests: RequestSource {
    typealias Replies = HTTPReplies

    private var request: FrameTemplate
    let reply: ReplyShape
    private let fill: (inout FrameTemplate, _ index: Int, _ connection: Int) -> Void

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        fill(&request, index, connection)
        output.append(contentsOf: request.bytes)
    }

    /// Reads the objects that ``ObjectGets`` reads, in the same order.
    static var gets: RESTRequests {
        RESTRequests(
            request: FrameTemplate(bare: "GET /bench/####/####.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
            reply: ReplyShape(text: SmallObject.text(number: "\(RequestNumber.base)"))
        ) { request, index, connection in
            request.fill(0, number: ObjectSets.keyBase + connection)
            request.fill(1, number: ObjectSets.keyBase + index &* 617 % ObjectSets.keys)
        }
    }

    /// Reads these objects as they were after an operation.
    static func getsOfPast(after sequence: Int) -> RESTRequests {
        RESTRequests(
            request: FrameTemplate(
                bare: "GET /bench/####/####/.history.json?seq=\(sequence) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    + "Authorization: Bearer owner\r\n\r\n"),
            reply: gets.reply, fill: gets.fill)
    }

    /// Sets the objects that ``ObjectSets`` sets.
    static var puts: RESTRequests {
        let object = SmallObject.text(number: "##########")
        return RESTRequests(
            request: FrameTemplate(
                bare: """
                    PUT /bench/####/####.json?print=silent HTTP/1.1\r
                    Host: 127.0.0.1\r
                    Content-Length: \(object.utf8.count)\r
                    \r
                    \(object)
                    """),
            reply: ReplyShape(text: "")
        ) { request, index, connection in
            request.fill(0, number: ObjectSets.keyBase + connection)
            request.fill(1, number: ObjectSets.keyBase + index % ObjectSets.keys)
            request.fill(2, number: RequestNumber.base + index)
        }
    }
}

/// The bodies of responses with `Content-Length`, or with status 204, which has none. Another status fails the run.
package enum HTTPReplies: ReplyFormat {
    package static func forEachReply(
        in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(BenchError) -> Void
    ) throws(BenchError) -> Int {
        var start = 0
        while let end = headEnd(in: bytes, from: start) {
            let head = String(decoding: bytes[start..<end], as: UTF8.self).lowercased()
            let hasBody = head.hasPrefix("http/1.1 200 ")
            guard hasBody || head.hasPrefix("http/1.1 204 ") else {
                throw BenchError("the server answered \(head.prefix(200))")
            }
            var size = 0
            if hasBody {
                guard let count = contentLength(of: head) else {
                    throw BenchError("an answer has no length: \(head.prefix(200))")
                }
                size = count
            }
            guard bytes.count - end >= size else { return start }
            try body(UnsafeRawBufferPointer(rebasing: bytes[end..<end + size]))
            start = end + size
        }
        return start
    }

    /// - parameter head: in lower case.
    static func contentLength(of head: String) -> Int? {
        let field = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
        return field.flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) }
    }

    /// Where the head ends, after its empty line; nil if it is not complete.
    static func headEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var place = start
        while place + 3 < bytes.count {
            if bytes[place] == UInt8(ascii: "\r"), bytes[place + 2] == UInt8(ascii: "\r") { return place + 4 }
            place += 1
        }
        return nil
    }
}
