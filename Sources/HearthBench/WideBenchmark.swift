/// Whether a write costs more under a node with very many children than under one with ten: for a few children that are
/// written again and again, and for very many, which are spread over nodes with ten children each in the one case.
struct WideBenchmark {
    private static let goal = 1.5
    private static let few = ChildSets.childrenPerNarrowNode

    private struct Node {
        var title: String
        var isWide: Bool
        /// Children that are written.
        var written: Int
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("wide needs a server of its own, not --url") }
        let folder = try TemporaryFolder(in: settings.folder)
        try fill(folder.path)
        let loaded = try measure(
            in: folder.path, durability: settings.durability, connections: settings.connections,
            inFlight: settings.inFlight)
        // A wait for the disk would hide the cost of a write, so single writes are measured without.
        let single = try measure(in: folder.path, durability: "process", connections: 1, inFlight: 1)
        return [
            result(
                loaded, "\(settings.connections) connections, \(settings.inFlight) in flight each",
                settings.durability, "CPU time per write"
            ) { $0.cpuPerMillion ?? 0 },
            result(single, "one connection, one in flight", "process", "latency p50") {
                Double($0.latency.percentile(0.5))
            },
        ]
    }

    /// Pairs of a narrow case and the wide one to compare it with.
    private var nodes: [Node] {
        let many = stage.settings.children
        let text = Numeral.grouped(many)
        return [
            Node(title: "10 children", isWide: false, written: Self.few),
            Node(title: "10 of \(text) children", isWide: true, written: Self.few),
            Node(title: "children of \(Numeral.grouped(many / Self.few)) nodes with 10", isWide: false, written: many),
            Node(title: "any of \(text) children", isWide: true, written: many),
        ]
    }

    private func fill(_ data: String) throws(BenchError) {
        let actor = try stage.server(data: data)
        defer { actor.leave() }
        var bulk = try BulkLoad(actor.target)
        for isWide in [false, true] {
            let objects = ChildSets.objects(isWide: isWide, children: stage.settings.children)
            try bulk.update(ChildSets.node(isWide: isWide), objects)
        }
    }

    /// One server for all rounds; the nodes take turns.
    private func measure(
        in data: String, durability: String, connections: Int, inFlight: Int
    ) throws(BenchError) -> [[Measurement]] {
        let actor = try stage.server(data: data, durability: durability)
        defer { actor.leave() }
        let load = try WebSocketLoad(actor.target)
        try load.open(connections)
        var measurements = nodes.map { _ in [Measurement]() }
        for _ in 0..<stage.settings.rounds {
            for (index, node) in nodes.enumerated() {
                let source = ChildSets(isWide: node.isWide, children: node.written)
                var requests = RequestLoad(load, source, inFlight: inFlight)
                var probe = UsageProbe(actor.target)
                // Writes left over by the last run do not belong to this one.
                actor.target.process.map { ProcessUsage(process: $0) }?.waitUntilIdle()
                let length = RequestLoad<ChildSets>.Length.seconds(
                    stage.settings.seconds, warmUp: stage.settings.warmUp)
                measurements[index].append(try requests.run(length, &probe))
            }
        }
        return measurements
    }

    private func result(
        _ measurements: [[Measurement]], _ load: String, _ durability: String, _ quantity: String,
        of value: (Measurement) -> Double
    ) -> BenchResult {
        BenchResult(
            benchmark: "wide", title: "writes under narrow and wide nodes, \(load)",
            parameters: [
                ("object", "60 bytes"), ("durability", durability), ("rounds", "\(stage.settings.rounds)"),
                ("seconds", Numeral.fixed(stage.settings.seconds, 0)),
            ],
            runs: zip(nodes, measurements).map { .init(target: $0.title, unit: "writes", rounds: $1) },
            findings: stride(from: 0, to: nodes.count, by: 2).map { narrow in
                .ratio(
                    "\(quantity), \(nodes[narrow + 1].title) over \(nodes[narrow].title)", measurements[narrow + 1],
                    over: measurements[narrow], .atMost(Self.goal), of: value)
            })
    }
}
