/// The cost of a page of a query with conditions that an index of two values serves, among a thousand children and
/// among very many: one from a random place of the whole order, and one from a place among the same thousand children.
///
/// The children's keys are in another order than their numbers, so that the children of a page are apart from each
/// other in the tree, and most of them are not in memory where there are very many.
struct PageBenchmark {
    private static let goal = 1.5
    static let limit = 20
    private static let few = 1_000

    private struct Case {
        var title: String
        var children: Int
        /// Pages begin at so many of the children, in the order of the query.
        var places: Int
    }

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        let settings = stage.settings
        guard settings.url == nil else { throw BenchError("page needs a server of its own, not --url") }
        guard settings.children > Self.few, !settings.children.isMultiple(of: PagedChildren.stride) else {
            throw BenchError("page needs more than \(Self.few) children, and no multiple of \(PagedChildren.stride)")
        }
        let folder = try TemporaryFolder(in: settings.folder)
        let file = folder.path + "/settings.json"
        try TextFile.write(#"{"settings":{"bench":{"$size":{".index":[["name","id"]]}}}}"#, to: file)
        try fill(folder.path, file)
        let measurements = try measure(folder.path, file)
        return [
            BenchResult(
                benchmark: "page", title: "pages of \(Self.limit) of a query with conditions, one in flight",
                parameters: [
                    ("object", "60 bytes"), ("rounds", "\(settings.rounds)"),
                    ("seconds", Numeral.fixed(settings.seconds, 0)),
                ],
                runs: zip(cases, measurements).map { .init(target: $0.title, unit: "pages", rounds: $1) },
                findings: findings(measurements))
        ]
    }

    private func findings(_ measurements: [[Measurement]]) -> [Finding] {
        var findings: [Finding] = []
        for wide in 1..<cases.count {
            let pair = "\(cases[wide].title) over \(cases[0].title)"
            findings.append(
                .ratio("latency p50, \(pair)", measurements[wide], over: measurements[0], .atMost(Self.goal)) {
                    Double($0.latency.percentile(0.5))
                })
            findings.append(
                .ratio("CPU time per page, \(pair)", measurements[wide], over: measurements[0], nil) {
                    $0.cpuPerMillion ?? 0
                })
        }
        return findings
    }

    private var cases: [Case] {
        let many = stage.settings.children
        return [
            Case(title: "\(Numeral.grouped(Self.few)) children", children: Self.few, places: Self.few),
            Case(title: "some of \(Numeral.grouped(many)) children", children: many, places: Self.few),
            Case(title: "any of \(Numeral.grouped(many)) children", children: many, places: many),
        ]
    }

    private func fill(_ data: String, _ file: String) throws(BenchError) {
        let actor = try stage.server(data: data, hearthSettings: file)
        defer { actor.leave() }
        var bulk = try BulkLoad(actor.target)
        for children in [Self.few, stage.settings.children] {
            try bulk.update("/bench/\(children)", PagedChildren(count: children).objects)
        }
        actor.target.process.map { ProcessUsage(process: $0) }?.waitUntilIdle()
    }

    /// One server for all rounds; the cases take turns.
    private func measure(_ data: String, _ file: String) throws(BenchError) -> [[Measurement]] {
        let actor = try stage.server(data: data, hearthSettings: file)
        defer { actor.leave() }
        let load = try WebSocketLoad(actor.target)
        try load.open(1)
        var measurements = cases.map { _ in [Measurement]() }
        var pages = PageLoad(load)
        for _ in 0..<stage.settings.rounds {
            for (index, one) in cases.enumerated() {
                var probe = UsageProbe(actor.target)
                let children = PagedChildren(count: one.children)
                _ = try pages.run(children, places: one.places, seconds: stage.settings.warmUp, &probe)
                measurements[index].append(
                    try pages.run(children, places: one.places, seconds: stage.settings.seconds, &probe))
            }
        }
        return measurements
    }
}

/// Children with a number each, in another order than their keys.
struct PagedChildren {
    /// A prime, and so without a factor in common with a number of children that it does not divide.
    static let stride = 7_919

    let count: Int

    /// The keys have seven digits, the numbers ten.
    private func key(_ child: Int) -> Int { ChildSets.keyBase + child }

    /// The number that a child has, from 0.
    private func rank(of child: Int) -> Int { child * Self.stride % count }

    /// A child that is one of the first `places` in the order of the numbers and has so many after it.
    func pick(_ random: inout SeededPick, places: Int, after rest: Int) -> (key: String, number: Int) {
        while true {
            let child = random.next(below: count)
            let rank = rank(of: child)
            if rank < places, rank + rest < count { return ("\(key(child))", RequestNumber.base + rank) }
        }
    }

    /// Objects that together hold all children, a thousand in each.
    var objects: some Sequence<[UInt8]> {
        Swift.stride(from: 0, to: count, by: 1_000).lazy.map { start in
            let members = (start..<min(start + 1_000, count)).map { child in
                #""\#(key(child))":\#(SmallObject.text(number: "\(RequestNumber.base + rank(of: child))"))"#
            }
            return Array("{\(members.joined(separator: ","))}".utf8)
        }
    }
}

/// Asks for one page after the other, and looks whether each begins with the right child and is full.
private struct PageLoad {
    private let load: WebSocketLoad
    private var scanner = FrameScanner()
    private var random = SeededPick(seed: 5)
    private var number = 0

    init(_ load: WebSocketLoad) { self.load = load }

    mutating func run(
        _ children: PagedChildren, places: Int, seconds: Double, _ probe: inout UsageProbe
    ) throws(BenchError) -> Measurement {
        var latency = LatencyHistogram()
        var count = 0
        probe.begin(at: Clock.now)
        let end = Clock.now + Int64(seconds * 1e9)
        while Clock.now < end {
            let (key, first) = children.pick(&random, places: places, after: PageBenchmark.limit)
            let start = Clock.now
            try ask("/bench/\(children.count)", from: first, expecting: key)
            latency.add(nanoseconds: Clock.now - start)
            count += 1
            probe.sample(at: Clock.now)
        }
        return probe.measurement(operations: count, latency: latency)
    }

    private mutating func ask(_ path: String, from first: Int, expecting key: String) throws(BenchError) {
        number += 1
        let conditions = #"[["name","==","hearth-bench"],["id",">=",\#(first)]]"#
        let query = #"{"where":\#(conditions),"orderBy":["id"],"limit":\#(PageBenchmark.limit)}"#
        let request = #"{"t":"d","d":{"r":\#(number),"a":"cg","b":{"p":"\#(path)","q":\#(query)}}}"#
        try load.send(FrameTemplate.frame(Array(request.utf8)), on: 0)
        let head =
            #"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":{"count":\#(PageBenchmark.limit),"items":{"0":{"key":"\#(key)","#
        var isAnswered = false
        while !isAnswered {
            try load.turn { (_, bytes) throws(BenchError) in
                try scanner.scan(bytes) { (payload) throws(BenchError) in
                    guard payload.starts(with: head.utf8) else {
                        throw BenchError("a page is \(String(decoding: payload.prefix(300), as: UTF8.self))")
                    }
                    isAnswered = true
                }
            }
        }
    }
}
