import Glibc

/// A large database: how soon the server answers after its start, and the memory of random reads and writes.
struct StartBenchmark {
    private static let startGoal = 200.0
    private static let memoryGoal = 200.0
    private static let accesses = 100_000

    let stage: Stage

    func results() throws(BenchError) -> [BenchResult] {
        guard stage.settings.url == nil else { throw BenchError("start needs a server of its own, not --url") }
        let leaves = stage.settings.leaves
        let folder = stage.settings.keptFolder == nil ? try TemporaryFolder(in: stage.settings.folder) : nil
        let data = stage.settings.keptFolder ?? folder?.path ?? ""
        var parameters = [("leaves", Numeral.grouped(leaves)), ("durability", stage.settings.durability)]
        if let seconds = try fill(data, leaves) {
            parameters.append(("built in", Numeral.fixed(seconds, 1) + " s"))
        }
        parameters.append(("files", Numeral.grouped(size(of: data) >> 20) + " MiB"))

        var starts: [Double] = []
        for _ in 0..<stage.settings.rounds { starts.append(try measureStart(data, leaves)) }
        let cold = try ColdCache.drop() ? measureStart(data, leaves) : nil
        let (reads, writes) = try use(data, leaves)
        let memory = (reads.memoryKiB + writes.memoryKiB).max() ?? 0

        var findings = [
            Finding(
                name: "from exec to the first answer", digits: 1, unit: " ms", rounds: starts,
                goal: .atMost(Self.startGoal))
        ]
        if let cold {
            findings.append(
                Finding(name: "the same with nothing in the page cache", digits: 1, unit: " ms", rounds: [cold]))
        }
        findings.append(
            Finding(
                name: "most resident memory", digits: 1, unit: " MiB", rounds: [Double(memory) / 1024],
                goal: .atMost(Self.memoryGoal)))
        return [
            BenchResult(
                benchmark: "start", title: "a database of \(Numeral.grouped(leaves)) leaves, opened and used",
                parameters: parameters,
                runs: [
                    .init(target: "hearth", unit: "reads of random leaves", rounds: [reads]),
                    .init(target: "hearth", unit: "writes of random leaves", rounds: [writes]),
                ],
                findings: findings)
        ]
    }

    /// Fills the folder through a server, unless that was done before. Answers how long it took, in seconds.
    private func fill(_ data: String, _ leaves: Int) throws(BenchError) -> Double? {
        let mark = "\(data)/bench-leaves-\(leaves)"
        if access(mark, F_OK) == 0 { return nil }
        let actor = try stage.server(data: data)
        defer { actor.leave() }
        let start = Clock.now
        var bulk = try BulkLoad(actor.target)
        try bulk.update("/bench/records", Records.objects(leaves: leaves))
        let seconds = Clock.seconds(since: start)
        actor.leave()
        close(creat(mark, 0o600))
        return seconds
    }

    /// Milliseconds from the start of the process to the answer to a read of a leaf.
    private func measureStart(_ data: String, _ leaves: Int) throws(BenchError) -> Double {
        let actor = try stage.server(data: data)
        defer { actor.leave() }
        let load = try WebSocketLoad(actor.target)
        try load.open(1)
        var requests = RequestLoad(load, LeafGets(leaves: leaves), inFlight: 1)
        var probe = UsageProbe(actor.target)
        _ = try requests.run(.requests(1), &probe)
        return Clock.seconds(since: actor.process?.startedAt ?? 0) * 1000
    }

    private func use(_ data: String, _ leaves: Int) throws(BenchError) -> (Measurement, Measurement) {
        let actor = try stage.server(data: data)
        defer { actor.leave() }
        let settings = stage.settings
        let load = try WebSocketLoad(actor.target)
        try load.open(settings.connections)
        var probe = UsageProbe(actor.target)
        probe.sampleInterval = 100_000_000
        var gets = RequestLoad(load, LeafGets(leaves: leaves), inFlight: settings.inFlight)
        let reads = try gets.run(.requests(Self.accesses), &probe)
        var sets = RequestLoad(load, LeafSets(leaves: leaves), inFlight: settings.inFlight)
        let writes = try sets.run(.requests(Self.accesses), &probe)
        return (reads, writes)
    }

    private func size(of folder: String) -> Int {
        ["default.tree", "default.log", "default.tree-wal", "default.log-wal"].reduce(0) { sum, name in
            var about = stat()
            return stat("\(folder)/\(name)", &about) == 0 ? sum + Int(about.st_size) : sum
        }
    }
}

/// The kernel's cache of files.
enum ColdCache {
    /// Empties it; false without the privilege to.
    static func drop() -> Bool {
        sync()
        let descriptor = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return write(descriptor, "3", 1) == 1
    }
}
