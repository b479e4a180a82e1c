import Glibc

/// How long small writes of one client take while another does large operations: no client should have to wait long.
///
/// The small writes go to a place of their own, one in flight, so that each of them shows how long the server was busy
/// with something else. The large thing is done again and again for the length of a run.
struct MixedBenchmark {
    /// Milliseconds that the 99th percentile should stay below, and the longest of all.
    private static let goals = (p99: 25.0, longest: 250.0)

    private enum Large: CaseIterable {
        case nothing, read, delete, write, set, query, expiry

        var title: String {
            switch self {
            case .nothing: "alone"
            case .read: "during reads of everything"
            case .delete: "during deletes of everything and rewriting it"
            case .write: "during an import of updates of 1 MB"
            case .set: "during sets of 14 MB of tiny children"
            case .query: "during queries without an index"
            case .expiry: "while children expire all at the same time"
            }
        }
    }

    private static let path = "/bench/large"
    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("mixed needs a server of its own, not --url") }
        var measurements = Large.allCases.map { _ in [Measurement]() }
        for _ in 0..<settings.rounds {
            for (index, large) in Large.allCases.enumerated() {
                measurements[index].append(try measure(large))
            }
        }
        return [
            BenchResult(
                benchmark: "mixed",
                title: "small writes during large operations, \(Numeral.grouped(settings.children)) children",
                parameters: [
                    ("object", "60 bytes"), ("durability", "process"), ("rounds", "\(settings.rounds)"),
                    ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: zip(Large.allCases, measurements).map {
                    .init(target: $0.title, unit: "writes", rounds: $1)
                },
                findings: zip(Large.allCases, measurements).flatMap { large, rounds in
                    [(99.0, Self.goals.p99), (100.0, Self.goals.longest)].map { percent, goal in
                        Finding(
                            name: "\(percent == 100 ? "longest" : "p99") write \(large.title)", digits: 1, unit: " ms",
                            rounds: rounds.map { Double($0.latency.percentile(percent / 100)) / 1e6 },
                            goal: .atMost(goal))
                    }
                })
        ]
    }

    private func measure(_ large: Large) throws(BenchError) -> Measurement {
        let folder = large == .expiry ? try TemporaryFolder(in: stage.settings.folder) : nil
        let file = folder.map { $0.path + "/settings.json" }
        if let file { try TextFile.write(#"{"settings":{"bench":{"large":{".expires":"until"}}}}"#, to: file) }
        let actor = try stage.server(durability: "process", hearthSettings: file)
        defer { actor.leave() }
        var bulk = try BulkLoad(actor.target)
        // When they have been there for some seconds.
        let time = Clock.wall + Int64(20_000 + stage.settings.children / 20)
        let objects =
            large == .expiry
            ? Self.expiring(at: time, children: stage.settings.children)
            : Array(ChildSets.objects(isWide: true, children: stage.settings.children))
        try bulk.update(Self.path, objects)
        let updates = Self.updates(objects)
        let set = large == .set ? Self.tinyChildren() : []
        let beside = try WebSocketLoad(actor.target)
        try beside.open(1)
        actor.target.process.map { ProcessUsage(process: $0) }?.waitUntilIdle()
        if large == .expiry {
            guard Clock.wall < time else { throw BenchError("the children expired before all of them were written") }
            while Clock.wall < time { usleep(1000) }
        }
        var small = try SmallWrites(try WebSocketLoad(actor.target))
        var probe = UsageProbe(actor.target)
        probe.begin(at: Clock.now)
        let end = Clock.now + Int64(stage.settings.seconds * 1e9)
        var largeLoad = LargeLoad(beside)
        while Clock.now < end {
            switch large {
            case .nothing, .expiry: break
            case .read: try largeLoad.ask(LargeLoad.frame(#""a":"g","b":{"p":"\#(Self.path)","q":{}}"#))
            case .query:
                let query = #"{"i":"id","l":10,"vf":"r"}"#
                try largeLoad.ask(LargeLoad.frame(#""a":"g","b":{"p":"\#(Self.path)","q":\#(query)}"#))
            case .delete:
                try largeLoad.ask(LargeLoad.frame(#""a":"p","b":{"p":"\#(Self.path)","d":null}"#))
                for update in updates { try largeLoad.ask(update) }
            case .set: try largeLoad.ask(set)
            case .write:
                for update in updates { try largeLoad.ask(update) }
            }
            // Each part of it at most until the end, and something even if there is nothing large.
            repeat {
                try small.turn()
                try largeLoad.turn()
            } while !largeLoad.isDone && Clock.now < end
        }
        return probe.measurement(operations: small.answered, latency: small.latency)
    }

    /// Objects that together hold all children, a thousand in each.
    private static func expiring(at time: Int64, children: Int) -> [[UInt8]] {
        stride(from: 0, to: children, by: 1_000).map { start in
            let members = (start..<min(start + 1_000, children)).map { child in
                #""\#(ChildSets.keyBase + child)":{"name":"hearth-bench","until":\#(time)}"#
            }
            return Array("{\(members.joined(separator: ","))}".utf8)
        }
    }

    /// As many rows as a message can bring.
    private static func tinyChildren() -> [UInt8] {
        let children = (10_000_000..<10_900_000).map { #""k\#($0)":1"# }.joined(separator: ",")
        return LargeLoad.frame(#""a":"p","b":{"p":"/bench/tiny","d":{\#(children)}}"#)
    }

    /// Updates with ten thousand children each.
    private static func updates(_ objects: [[UInt8]]) -> [[UInt8]] {
        stride(from: 0, to: objects.count, by: 10).map { start in
            let members = objects[start..<min(start + 10, objects.count)].map { $0.dropFirst().dropLast() }
            let text = String(decoding: Array(members.joined(separator: [UInt8(ascii: ",")])), as: UTF8.self)
            return LargeLoad.frame(#""a":"m","b":{"p":"\#(path)","d":{\#(text)}}"#)
        }
    }
}

/// Requests of one connection, a few in flight, whose answers may be large and are not looked at.
private struct LargeLoad {
    private static let inFlightMax = 4

    private let load: WebSocketLoad
    private var scanner = FrameScanner()
    private var waiting: [[UInt8]] = []
    private var inFlight = 0

    init(_ load: WebSocketLoad) { self.load = load }

    var isDone: Bool { waiting.isEmpty && inFlight == 0 }

    /// A request, made before it is wanted: the generator should not be busy while it measures.
    static func frame(_ request: String) -> [UInt8] {
        FrameTemplate.frame(Array(#"{"t":"d","d":{"r":\#(RequestNumber.base),\#(request)}}"#.utf8))
    }

    private static let last = FrameTemplate.frame(Array(#"{"t":"d","d":{"r":1,"a":"s","b":{"c":{}}}}"#.utf8))

    mutating func ask(_ frame: [UInt8]) throws(BenchError) {
        waiting.append(frame)
        try sendWaiting()
    }

    private mutating func sendWaiting() throws(BenchError) {
        while inFlight < Self.inFlightMax, !waiting.isEmpty {
            inFlight += 1
            // The answer may be in many frames: that of a request after it tells that it has come.
            try load.send(waiting.removeFirst() + Self.last, on: 0)
        }
    }

    /// Takes received data, without waiting.
    mutating func turn() throws(BenchError) {
        if isDone { return }
        var answered = 0
        var scanner = FrameScanner()
        swap(&scanner, &self.scanner)
        _ = try load.turn(timeoutMilliseconds: 0) { (_, bytes) throws(BenchError) in
            try scanner.scan(bytes) { (payload) throws(BenchError) in
                if payload.elementsEqual(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#.utf8) { answered += 1 }
                if payload.starts(with: #"{"t":"d","d":{"r":1000000000,"b":{"s":"#.utf8),
                    !payload.starts(with: #"{"t":"d","d":{"r":1000000000,"b":{"s":"ok""#.utf8)
                {
                    throw BenchError("a large request failed: \(String(decoding: payload.prefix(200), as: UTF8.self))")
                }
            }
        }
        swap(&scanner, &self.scanner)
        inFlight -= answered
        try sendWaiting()
    }
}

/// Small writes of one connection, one in flight.
private struct SmallWrites {
    private let load: WebSocketLoad
    private var source = ObjectSets(isFloor: false)
    private var scanner = FrameScanner()
    private var sentAt: Int64 = 0
    private var sent = 0
    private(set) var answered = 0
    private(set) var latency = LatencyHistogram()

    init(_ load: WebSocketLoad) throws(BenchError) {
        self.load = load
        try load.open(1)
    }

    /// Waits a little for the answer, and sends the next one when it has come.
    mutating func turn() throws(BenchError) {
        if sent == answered {
            var frame: [UInt8] = []
            source.append(sent, connection: 0, to: &frame)
            sent += 1
            sentAt = Clock.now
            try load.send(frame, on: 0)
        }
        var scanner = FrameScanner()
        swap(&scanner, &self.scanner)
        _ = try load.turn(timeoutMilliseconds: 1) { (_, bytes) throws(BenchError) in
            try scanner.scan(bytes) { (payload) throws(BenchError) in
                guard source.reply.matches(payload, number: RequestNumber.base + answered) else {
                    throw BenchError("a write failed: \(String(decoding: payload.prefix(200), as: UTF8.self))")
                }
                answered += 1
                latency.add(nanoseconds: Clock.now - sentAt)
            }
        }
        swap(&scanner, &self.scanner)
    }
}
