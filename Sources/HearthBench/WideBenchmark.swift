/// Whether a write costs more under a node with very many children than under one with ten.
struct WideBenchmark {
    private static let goal = 1.5
    private static let few = 10

    private struct Node {
        var title: String
        var name: String
        /// Children that are written.
        var written: Int
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        let folder = try TemporaryFolder(in: settings.folder)
        try fill(folder.path)
        let many = settings.children
        let nodes = [
            Node(title: "10 children", name: "narrow", written: Self.few),
            Node(title: "the first 10 of \(Numeral.grouped(many)) children", name: "wide", written: Self.few),
            Node(title: "any of \(Numeral.grouped(many)) children", name: "wide", written: many),
        ]
        let loaded = try measure(
            nodes, in: folder.path, durability: settings.durability, connections: settings.connections,
            inFlight: settings.inFlight)
        // A wait for the disk would hide what a write costs, so single writes are measured without.
        let single = try measure(nodes, in: folder.path, durability: "process", connections: 1, inFlight: 1)
        return [
            result(
                nodes, loaded, "\(settings.connections) connections, \(settings.inFlight) in flight each",
                settings.durability, "CPU time per write"
            ) { $0.cpuPerMillion ?? 0 },
            result(nodes, single, "one connection, one in flight", "process", "latency p50") {
                Double($0.latency.percentile(0.5))
            },
        ]
    }

    private func fill(_ data: String) throws(BenchError) {
        let actor = try stage.server(data: data)
        defer { actor.leave() }
        var bulk = try BulkLoad(actor.target)
        try bulk.update("/bench/narrow", ChildSets.objects(children: Self.few))
        try bulk.update("/bench/wide", ChildSets.objects(children: stage.settings.children))
    }

    /// One server for all rounds; the nodes take turns.
    private func measure(
        _ nodes: [Node], in data: String, durability: String, connections: Int, inFlight: Int
    ) throws(BenchError) -> [[Measurement]] {
        let actor = try stage.server(data: data, durability: durability)
        defer { actor.leave() }
        let load = try WebSocketLoad(actor.target)
        try load.open(connections)
        var measurements = nodes.map { _ in [Measurement]() }
        for _ in 0..<stage.settings.rounds {
            for (index, node) in nodes.enumerated() {
                let source = ChildSets(node: node.name, children: node.written)
                var requests = RequestLoad(load, source, inFlight: inFlight)
                var probe = UsageProbe(actor.target)
                let length = RequestLoad<ChildSets>.Length.seconds(
                    stage.settings.seconds, warmUp: stage.settings.warmUp)
                measurements[index].append(try requests.run(length, &probe))
            }
        }
        return measurements
    }

    private func result(
        _ nodes: [Node], _ measurements: [[Measurement]], _ load: String, _ durability: String, _ quantity: String,
        of value: (Measurement) -> Double
    ) -> BenchResult {
        let narrow = measurements[0]
        return BenchResult(
            benchmark: "wide", title: "writes under narrow and wide nodes, \(load)",
            parameters: [
                ("object", "60 bytes"), ("durability", durability), ("rounds", "\(stage.settings.rounds)"),
                ("seconds", Numeral.fixed(stage.settings.seconds, 0)),
            ],
            runs: zip(nodes, measurements).map { .init(target: $0.title, unit: "writes", rounds: $1) },
            findings: zip(nodes, measurements).dropFirst().map { node, wide in
                .ratio(
                    "\(quantity), \(node.title) over \(nodes[0].title)", wide, over: narrow, .atMost(Self.goal),
                    of: value)
            })
    }
}
