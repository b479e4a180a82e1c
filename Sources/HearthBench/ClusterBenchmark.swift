import Glibc

/// Three members of etcd and one to three nodes on this machine: what they cost over one server, and how long clients
/// wait while a cluster changes.
///
/// All processes share the CPUs, so rates cannot grow with the nodes. CPU times for each operation, of each node, say
/// what a node with CPUs of its own would be able to do.
struct ClusterBenchmark {
    private static let burst = 64
    /// Between two bursts of ``steadyWrites(_:owner:)``, in seconds.
    static let steadyInterval = 0.05

    private let stage: Stage
    private var settings: BenchSettings { stage.settings }

    init(stage: Stage) {
        // The processes of a cluster need all CPUs, and the server that they are compared with gets the same.
        var settings = stage.settings
        settings.cpus = nil
        self.stage = Stage(settings: settings)
    }

    func results() throws(BenchError) -> [BenchResult] {
        guard settings.url == nil else { throw BenchError("cluster needs nodes of its own, not --url") }
        guard settings.durability == "full" else { throw BenchError("nodes of a cluster have --durability full") }
        _ = try EtcdProcesses.program()
        var rounds: [ClusterRound] = []
        for _ in 0..<settings.rounds { rounds.append(try round()) }
        return ClusterReport(settings: settings, rounds: rounds).results
    }

    private func round() throws(BenchError) -> ClusterRound {
        var round = ClusterRound()
        let server = try stage.server()
        round.writesOfOne = [try writes([server.target], owner: 0)]
        round.fanoutOfOne = [try fanout([server.target], owner: 0)]
        server.leave()
        for count in 1...ClusterRound.nodesMax {
            let cluster = try BenchCluster(nodes: count, settings)
            defer { cluster.stop() }
            let (targets, owner) = (cluster.nodes.map(\.target), try cluster.owner())
            round.writes.append(try writes(targets, owner: owner))
            round.followers.runs.append(try steadyWrites(cluster, owner: owner))
            round.fanout.append(try fanout(targets, owner: owner))
            guard count == ClusterRound.nodesMax else { continue }
            round.single = try single(cluster, owner: owner)
            round.move = try move(cluster)
            round.deathSeconds = try death(of: try cluster.owner(), in: cluster)
        }
        round.storm = try storm()
        return round
    }

    // MARK: Loads

    /// Runs a load twice: for the warm-up, and to measure it together with the CPU time of all nodes.
    ///
    /// - parameter share: the part of the operations that counts for each node.
    private func measure(
        _ targets: [Target], owner: Int, share: Double = 1,
        _ run: (_ seconds: Double, inout UsageProbe) throws(BenchError) -> Measurement
    ) throws(BenchError) -> ClusterRun {
        var probe = UsageProbe(targets[owner])
        _ = try run(settings.warmUp, &probe)
        let usages = targets.map { ProcessUsage(process: $0.process ?? 0) }
        let before = usages.map(\.cpuSeconds)
        var measurement = try run(settings.seconds, &probe)
        let cpu = zip(usages, before).map { $0.cpuSeconds - $1 }
        measurement.targetCPUSeconds = cpu.reduce(0, +)
        let operations = Double(measurement.operations) * share
        return ClusterRun(
            measurement: measurement, cpuPerMillion: cpu.map { operations > 0 ? $0 / operations * 1e6 : 0 },
            owner: owner)
    }

    /// Sets at the owner, many in flight.
    private func writes(_ targets: [Target], owner: Int) throws(BenchError) -> ClusterRun {
        let load = try WebSocketLoad(targets[owner])
        try load.open(settings.connections)
        var requests = RequestLoad(load, ObjectSets(isFloor: false), inFlight: settings.inFlight)
        return try measure(targets, owner: owner) { (seconds, probe) throws(BenchError) in
            try requests.run(.seconds(seconds, warmUp: 0), &probe)
        }
    }

    /// Sets at the owner, at a rate that the machine can make with all nodes.
    private func steadyWrites(_ cluster: BenchCluster, owner: Int) throws(BenchError) -> FollowerCost.Run {
        let target = cluster.nodes[owner].target
        let load = try WebSocketLoad(target)
        try load.open(settings.connections)
        var requests = RequestLoad(load, ObjectSets(isFloor: false), inFlight: settings.inFlight)
        var probe = UsageProbe(target)
        func run(_ seconds: Double) throws(BenchError) -> Measurement {
            try requests.run(.bursts(interval: Self.steadyInterval, seconds: seconds, warmUp: 0), &probe)
        }
        _ = try run(settings.warmUp)
        let usage = ThreadUsage(process: target.process ?? 0)
        let (revision, before) = (try cluster.revision(), usage.cpuSeconds)
        let measurement = try run(settings.seconds)
        let threads = usage.cpuSeconds.map { name, seconds in (name, seconds - (before[name] ?? 0)) }
        return FollowerCost.Run(
            measurement: measurement, commits: try cluster.revision() - revision,
            threads: Dictionary(uniqueKeysWithValues: threads))
    }

    /// Changes at the owner, in bursts, to as many listeners at each node.
    private func fanout(_ targets: [Target], owner: Int) throws(BenchError) -> ClusterRun {
        let load = try WebSocketLoad(targets[owner])
        try load.open(1)
        for target in targets { try load.open(listeners, at: target) }
        try ListenRequests(load).listen(on: 1...listeners * targets.count) { _ in "/\(FanoutBenchmark.path)" }
        var fanout = FanoutLoad(
            load, frame: FrameTemplate(FanoutBenchmark.change), reply: ReplyShape(data: #""""#, hasContent: true),
            pushSize: FanoutBenchmark.pushSize, burst: Self.burst)
        return try measure(targets, owner: owner, share: 1 / Double(targets.count)) {
            (seconds, probe) throws(BenchError) in
            try fanout.run(seconds: seconds, warmUp: 0, &probe)
        }
    }

    private var listeners: Int { settings.listeners.min() ?? 1_000 }

    // MARK: One write in flight

    private func single(
        _ cluster: BenchCluster, owner: Int
    ) throws(BenchError) -> (etcd: Measurement, owner: Measurement, follower: Measurement) {
        var appends = try EtcdAppends(cluster.etcd.members)
        let etcd = try appends.run(seconds: settings.seconds, warmUp: settings.warmUp)
        func writes(at node: Int) throws(BenchError) -> Measurement {
            let load = try WebSocketLoad(cluster.nodes[node].target)
            try load.open(1)
            var probe = UsageProbe(cluster.nodes[node].target)
            var requests = RequestLoad(load, ObjectSets(isFloor: false), inFlight: 1)
            return try requests.run(.seconds(settings.seconds, warmUp: settings.warmUp), &probe)
        }
        return (etcd, try writes(at: owner), try writes(at: (owner + 1) % cluster.nodes.count))
    }

    // MARK: Changes

    /// Has each of the other nodes take the writes, and the first one again, while there is a writer at each node.
    private func move(_ cluster: BenchCluster) throws(BenchError) -> (pauseSeconds: Double, refused: Int) {
        let writers = SteadyWriters(cluster.nodes.map(\.target))
        try writers.run(seconds: settings.warmUp)
        writers.beginMeasuring()
        let first = try cluster.owner()
        for step in 1...cluster.nodes.count {
            let node = (first + step) % cluster.nodes.count
            let command = try cluster.move(to: node)
            while command.exitCode == nil { try writers.turn() }
            guard command.exitCode == 0 else {
                throw BenchError("'hearth cluster move' has ended with \(command.exitCode ?? 0)")
            }
            try writers.run(seconds: 0.5)
            guard try cluster.owner() == node else {
                throw BenchError("\(BenchCluster.name(node)) was not given the log")
            }
        }
        return (Double(writers.longestPause) / 1e9, writers.refused + writers.lostConnections)
    }

    /// Kills a node that takes the writes. Answers how many seconds later there is an acknowledgement of a write, sent
    /// after that, at each of the others.
    private func death(of node: Int, in cluster: BenchCluster) throws(BenchError) -> Double {
        let survivors = cluster.nodes.indices.filter { $0 != node }.map { cluster.nodes[$0].target }
        let writers = SteadyWriters(survivors)
        try writers.run(seconds: settings.warmUp)
        let start = Clock.now
        cluster.nodes[node].kill()
        while !writers.haveWritten(since: start) {
            try writers.turn()
            guard Clock.seconds(since: start) < 60 else { throw BenchError("no writes for a minute after a node died") }
        }
        return Clock.seconds(since: start)
    }

    /// Kills a node that follows and has very many clients, which come back at the two others and resume.
    private func storm() throws(BenchError) -> ReconnectStorm.Outcome {
        let cluster = try BenchCluster(nodes: ClusterRound.nodesMax, settings)
        defer { cluster.stop() }
        let owner = try cluster.owner()
        let dying = (owner + 1) % cluster.nodes.count
        let survivors = cluster.nodes.indices.filter { $0 != dying }.map { cluster.nodes[$0].target }
        var storm = try ReconnectStorm(
            cluster.nodes[owner].target, clients: settings.listeners.max() ?? 10_000, resumes: true,
            from: cluster.nodes[dying].target, to: survivors)
        return try storm.run { cluster.nodes[dying].kill() }
    }
}
