/// The cost of a write at the place of a live limited query, with an index and without, and at that of a live count and
/// sum, under few siblings and very many.
///
/// Somebody listens to the last hundred by `id`. Every second write makes a child the last of all, so that it enters
/// and another one leaves; the write after it takes the child out again, so that the server must find the one that
/// comes back.
struct QueryBenchmark {
    private static let goal = 2.0
    private static let limit = 100

    private enum Kind: String, CaseIterable {
        case indexed, scanned, counted

        /// The action that listens, with its query.
        var query: (action: String, text: String) {
            switch self {
            case .indexed, .scanned: ("q", #"{"i":"id","l":\#(QueryBenchmark.limit),"vf":"r"}"#)
            case .counted: ("cq", #"{"where":[["ok","==",true]],"aggregate":["count","sum"],"of":"id"}"#)
            }
        }
    }

    private struct Collection {
        var kind: Kind
        var title: String
        var path: String
        var children: Int
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("query needs a server of its own, not --url") }
        let folder = try TemporaryFolder(in: settings.folder)
        let rules = folder.path + "/rules.json"
        try TextFile.write(
            #"{"rules":{".read":true,".write":true,"bench":{"indexed":{"$size":{".indexOn":"id"}}}}}"#, to: rules)
        try fill(folder.path, rules)
        let measurements = try measure(folder.path, rules)
        return [
            BenchResult(
                benchmark: "query",
                title: "writes at a live query for the last \(Self.limit), or a live count, one in flight",
                parameters: [
                    ("object", "60 bytes"), ("durability", "process"), ("rounds", "\(settings.rounds)"),
                    ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: zip(collections, measurements).map { .init(target: $0.title, unit: "writes", rounds: $1) },
                findings: stride(from: 0, to: collections.count, by: Self.sizes).map { first in
                    let (narrow, wide) = (first + 1, first + Self.sizes - 1)
                    return .ratio(
                        "latency p50, \(collections[wide].title) over \(collections[narrow].title)",
                        measurements[wide], over: measurements[narrow],
                        collections[first].kind == .scanned ? nil : .atMost(Self.goal)
                    ) { Double($0.latency.percentile(0.5)) }
                })
        ]
    }

    /// Of ten, of a thousand and of very many children: by kind.
    private static let sizes = 3

    private var collections: [Collection] {
        Kind.allCases.flatMap { kind in
            [10, 1_000, stage.settings.children].map { children in
                Collection(
                    kind: kind, title: "\(Numeral.grouped(children)) children, \(kind)",
                    path: "/bench/\(kind)/\(children)",
                    children: children)
            }
        }
    }

    private func fill(_ data: String, _ rules: String) throws(BenchError) {
        let actor = try stage.server(data: data, rules: rules)
        defer { actor.leave() }
        var bulk = try BulkLoad(actor.target)
        for collection in collections {
            try bulk.update(collection.path, ChildSets.objects(isWide: true, children: collection.children))
        }
        actor.target.process.map { ProcessUsage(process: $0) }?.waitUntilIdle()
    }

    private func measure(_ data: String, _ rules: String) throws(BenchError) -> [[Measurement]] {
        var measurements = collections.map { _ in [Measurement]() }
        for _ in 0..<stage.settings.rounds {
            for (index, collection) in collections.enumerated() {
                let actor = try stage.server(data: data, durability: "process", rules: rules)
                defer { actor.leave() }
                let listener = try WebSocketLoad(actor.target)
                try listener.open(1)
                try listen(listener, collection)
                let load = try WebSocketLoad(actor.target)
                try load.open(1)
                let source = QuerySets(path: collection.path, children: collection.children)
                var requests = RequestLoad(load, source, inFlight: 1)
                var probe = UsageProbe(actor.target)
                let length = RequestLoad<QuerySets>.Length.seconds(
                    stage.settings.seconds, warmUp: stage.settings.warmUp)
                measurements[index].append(try requests.run(length, &probe))
            }
        }
        return measurements
    }

    /// Waits until the listener has its data.
    private func listen(_ load: WebSocketLoad, _ collection: Collection) throws(BenchError) {
        let (action, query) = collection.kind.query
        let hash = collection.kind == .counted ? "" : #","h":"""#
        let body = #"{"p":"\#(collection.path)","q":\#(query),"t":1\#(hash)}"#
        let request = #"{"t":"d","d":{"r":1,"a":"\#(action)","b":\#(body)}}"#
        try load.send(FrameTemplate.frame(Array(request.utf8)), on: 0)
        var scanner = FrameScanner()
        var isListening = false
        while !isListening {
            try load.turn { (_, bytes) throws(BenchError) in
                try scanner.scan(bytes) { (payload) throws(BenchError) in
                    if payload.starts(with: #"{"t":"d","d":{"r":1,"b":{"s":"ok""#.utf8) { isListening = true }
                }
            }
        }
    }
}

/// Sets random children of a node, each time first to the greatest number of all and then back to the smallest.
struct QuerySets: RequestSource {
    private static let greatest = 2_000_000_000
    private var frame: FrameTemplate
    private let children: Int
    private var random = SeededPick(seed: 3)
    private var child = 0
    let reply = ReplyShape(data: #""""#, hasContent: true)

    init(path: String, children: Int) {
        self.children = children
        frame = FrameTemplate(
            """
            {"t":"d","d":{"r":##########,"a":"p","b":{"p":"\(path)/#######",\
            "d":\(SmallObject.text(number: "##########"))}}}
            """)
    }

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        let isFirst = index.isMultiple(of: 2)
        if isFirst { child = random.next(below: children) }
        frame.fill(0, number: RequestNumber.base + index)
        frame.fill(1, number: ChildSets.keyBase + child)
        frame.fill(2, number: isFirst ? Self.greatest + index : RequestNumber.base)
        output.append(contentsOf: frame.bytes)
    }
}
