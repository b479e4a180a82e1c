import Glibc
import HearthServerSupport
import HearthSystem
import HearthTestSupport
import Testing

/// Failures that a cluster of processes goes through, one after the other, and what clients see of each. The table is in
/// docs/decisions/0010-replicated-log-on-etcd.md. The tests run one at a time: with many clusters on one machine, members
/// of etcd answer too late.
@Suite(
    "Failures of a cluster", .serialized, .enabled(if: EtcdServers.isInstalled, "etcd is not installed"),
    .timeLimit(.minutes(15)))
struct ClusterFailureTests {
    /// Those that take longest run in `make test-cluster` only.
    private static let isThorough = TestScale.clusterSeconds != nil

    /// Safe because: one thread sends it, and another one waits for the answer afterwards.
    private struct Question: @unchecked Sendable {
        let sent: NodeQuestion
        init(_ sent: NodeQuestion) { self.sent = sent }
    }

    /// Three nodes with a network that can be cut, and the one that takes the writes.
    private struct World {
        var cluster: ProcessCluster
        var owner: Int

        init(hasDisks: Bool = false, clocks: [ShiftedClock] = []) async throws {
            cluster = try ProcessCluster(forwardsWrites: true, hasNetwork: true, hasDisks: hasDisks)
            cluster.environments = clocks.map(\.environment)
            owner = 0
            for node in 0..<3 { try await cluster.start(node) }
            // All follow, and know the owner.
            for node in 0..<3 { try await write("start/\(node)", at: node) }
            owner = try await recordedOwner()
        }

        var followers: [Int] { (0..<3).filter { $0 != owner } }

        func name(_ node: Int) -> String { ProcessCluster.nodeNames[node] }

        /// The node that `hearth cluster status` names.
        func recordedOwner(except other: Int? = nil) async throws -> Int {
            var found: Int?
            try await eventually("an owner") {
                let said = try await cluster.command("status").output
                found = said.firstMatch(of: /default  owner n([1-3])/).flatMap { Int($0.1) }.map { $0 - 1 }
                return found != nil && found != other
            }
            return try #require(found)
        }

        func ask(
            _ method: String, _ path: String, _ body: String = "", at node: Int, within time: Duration = .seconds(6)
        ) async throws -> NodeAnswer? {
            let port = cluster.ports[node]
            return try await onThread { NodeAnswer.ask(method, path, body, port: port, within: time) }
        }

        /// Returns once a node has made a write.
        func write(_ path: String, _ value: String = "1", at node: Int) async throws {
            try await eventually("a write at node \(node + 1)") {
                try await ask("PUT", "/\(path)", value, at: node)?.status == 200
            }
        }

        func read(_ path: String, at node: Int) async throws -> String? {
            try await ask("GET", "/\(path)", at: node)?.body
        }

        func awaitReading(_ path: String, _ value: String, at node: Int) async throws {
            try await eventually("\(path) at node \(node + 1)") { try await read(path, at: node) == value }
        }

        func awaitReadiness(_ nodes: [Int] = [0, 1, 2]) async throws {
            for node in nodes {
                try await eventually("readiness of node \(node + 1)") {
                    try await ask("GET", "/readyz", at: node)?.status == 200
                }
            }
        }
    }

    @Test("two nodes that cannot reach each other: one reads on, and its writes are not made until they can")
    func link() async throws {
        let world = try await World()
        let (owner, other, third) = (world.owner, world.followers[0], world.followers[1])
        // The request is on its way to the owner, which does not get it. It is sent at once, without waiting for tasks
        // of other tests: a node that knows of the cut refuses it.
        let network = try #require(world.cluster.network)
        let (names, port) = ((world.name(owner), world.name(other)), world.cluster.ports[other])
        let question = try await onThread {
            network.cut(names.0, from: names.1, .silent)
            return Question(try NodeQuestion("PUT", "/lost", "1", port: port, within: Patience.limit))
        }
        async let lost = onThread { question.sent.answer() }
        // Everybody else writes on, and the node that is cut off reads what they write.
        try await world.write("a", at: owner)
        try await world.write("b", at: third)
        try await world.awaitReading("b", "1", at: other)
        // The connection to the owner has ended, so it cannot say what came of the write.
        #expect(try await lost == nil)
        #expect(try await world.read("lost", at: owner) == "null")
        // Later ones are refused in time, which takes ten seconds.
        if Self.isThorough {
            let refused = try await world.ask("PUT", "/refused", "1", at: other, within: Patience.limit)
            #expect(refused?.status == 503)
        }
        try world.cluster.cutOff(world.name(owner), from: [world.name(other)], nil)
        try await world.write("c", at: other)
        #expect(try await world.read("refused", at: other) == "null")
        try await world.awaitReadiness()
    }

    @Test("an owner that no other node reaches gives the log up after some seconds, and reads on")
    func ownerWithoutPeers() async throws {
        let world = try await World()
        let owner = world.owner
        try world.cluster.cutOff(world.name(owner), from: world.followers.map(world.name), .refused)
        try await world.write("a", at: owner)
        for node in world.followers { try await world.awaitReading("a", "1", at: node) }
        // They wait for a node that takes them.
        for node in world.followers { try await world.write("b/\(node)", at: node) }
        #expect(try await world.recordedOwner() != owner)
        for node in world.followers { try await world.awaitReading("b/\(node)", "1", at: owner) }
        try await eventually("that it is not ready") {
            let answer = try await world.ask("GET", "/readyz", at: owner)
            return answer?.status == 503
                && answer?.body.contains("other nodes do not reach the node '\(world.name(owner))'") == true
        }
        try await eventually("that the status says so") {
            let status = try await world.cluster.command("status")
            return status.code == 1
                && world.followers.map(world.name).allSatisfy {
                    status.errors.contains("the node '\($0)' does not reach the node '\(world.name(owner))'")
                }
        }
        try world.cluster.cutOff(world.name(owner), from: world.followers.map(world.name), nil)
        try await world.awaitReadiness()
        for node in 0..<3 { try await world.write("c/\(node)", at: node) }
    }

    @Test("an owner that is cut off from etcd is replaced, acknowledges nothing, and follows afterwards")
    func ownerWithoutEtcd() async throws {
        var world = try await World()
        let deadline = MonotonicTime.current + Patience.limit
        // A busy machine may have extended a lease late, so that not much of it is left, but not each time.
        while try await timeToReplaceOwner(world) < .seconds(1) {
            try #require(MonotonicTime.current < deadline, "the owner's lease lasts that long")
            world.owner = try await world.recordedOwner()
        }
    }

    /// From the cut to the first write at another node.
    private func timeToReplaceOwner(_ world: World) async throws -> Duration {
        let (owner, other) = (world.owner, world.followers[0])
        try await world.write("n", "1", at: owner)
        let cut = MonotonicTime.current
        try world.cluster.cutOff(world.name(owner), from: ProcessCluster.memberNames, .silent)
        async let orphaned = world.ask("PUT", "/n", "2", at: owner, within: .seconds(20))
        // Another node takes over after the end of the lease.
        try await world.write("n", "3", at: other)
        let time = MonotonicTime.current - cut
        #expect(try await world.recordedOwner(except: owner) != owner)
        // It knows that it may be behind, and says so to load balancers.
        try await eventually("that it is not ready") {
            try await world.ask("GET", "/readyz", at: owner)?.status == 503
        }
        #expect(try await orphaned?.status != 200)
        try world.cluster.cutOff(world.name(owner), from: ProcessCluster.memberNames, nil)
        try await world.awaitReadiness()
        try await world.awaitReading("n", "3", at: owner)
        try await world.write("n", "4", at: owner)
        return time
    }

    @Test("an owner that wakes up after another node has taken over decides nothing by what it knew before")
    func owner() async throws {
        var world = try await World()
        var answers: [NodeAnswer?]
        repeat {
            world.owner = try await world.recordedOwner()
            answers = try await answersOfWakingOwner(world)
        } while answers.allSatisfy { $0?.status == 503 }
        // On a busy machine, etcd may not answer in time: such writes are refused, and not by old data.
        let wrong = answers.filter { $0?.status != 200 && $0?.status != 503 }
        #expect(wrong.isEmpty, "the conditions are true of the present data")
        try await world.awaitReadiness()
    }

    /// Answers to conditional writes that wait for the owner while it is paused. The conditions are true of what another
    /// node writes meanwhile.
    private func answersOfWakingOwner(_ world: World) async throws -> [NodeAnswer?] {
        let (owner, other) = (world.owner, world.followers[0])
        let places = (0..<20).map { "/n/\($0)" }
        try await world.write("n", "[" + places.map { _ in "1" }.joined(separator: ",") + "]", at: owner)
        let node = try #require(world.cluster.nodes[owner])
        node.signal(SIGSTOP)
        try await world.write("n", "[" + places.map { _ in "2" }.joined(separator: ",") + "]", at: other)
        let tag = try await onThread { [port = world.cluster.ports[other]] in
            NodeAnswer.ask("GET", places[0], fields: ["X-Firebase-ETag: true"], port: port)?.tag
        }
        let field = "if-match: \(try #require(tag))"
        return try await onThread { [port = world.cluster.ports[owner]] in
            let questions = try places.map {
                try NodeQuestion("PUT", $0, "3", fields: [field], port: port, within: .seconds(60))
            }
            node.signal(SIGCONT)
            return questions.map { $0.answer() }
        }
    }

    @Test(
        "members of etcd that cannot reach each other: writes go on as soon as two can",
        .enabled(if: isThorough, "make test-cluster"))
    func members() async throws {
        let world = try await World()
        for member in ProcessCluster.memberNames {
            try world.cluster.cutOff(member, .silent)
            for node in 0..<3 { try await world.write("a/\(member)/\(node)", at: node) }
            try world.cluster.cutOff(member, nil)
        }
        // None reaches another one: nothing is acknowledged.
        let names = ProcessCluster.memberNames
        for member in names { try world.cluster.cutOff(member, from: names, .silent) }
        for node in 0..<3 {
            let answer = try await world.ask("PUT", "/never", "1", at: node, within: .seconds(1))
            #expect(answer?.status != 200)
        }
        for member in names { try world.cluster.cutOff(member, from: names, nil) }
        for node in 0..<3 { try await world.write("b/\(node)", at: node) }
        try await world.awaitReadiness()
    }

    @Test(
        "clocks that jump: nobody loses a lease, and the times of writes keep their order, unless they are a minute ahead",
        .enabled(if: ShiftedClock.isAvailable, "there is no C compiler"))
    func clocks() async throws {
        let clocks = try (0..<3).map { _ in try ShiftedClock() }
        var world = try await World(clocks: clocks)
        func time(at node: Int) async throws -> Int64 {
            try await world.write("time", #"{".sv":"timestamp"}"#, at: node)
            return try #require(try await world.read("time", at: node).flatMap { Int64($0) })
        }
        var last: Int64 = 0
        func expectLater(at node: Int, _ location: SourceLocation = #_sourceLocation) async throws {
            let time = try await time(at: node)
            #expect(time >= last, sourceLocation: location)
            last = time
        }
        let owner = world.owner
        for seconds: Int64 in [30, -10, 15, 0] {
            for clock in clocks { clock.set(seconds) }
            for node in 0..<3 { try await expectLater(at: node) }
        }
        // The next owner's clock is behind.
        for node in world.followers { clocks[node].set(-10) }
        world.cluster.nodes[owner] = nil
        for node in world.followers { try await expectLater(at: node) }
        world.owner = try await world.recordedOwner(except: owner)
        // A clock that was wrong by more than a minute is followed.
        let other = try #require(world.followers.first { $0 != owner })
        for seconds: Int64 in [86_400, -7_200, 0] {
            for clock in clocks { clock.set(seconds) }
            let expected = try await time(at: other) - seconds * 1000
            #expect(abs(expected - WallClock.milliseconds) < 60_000)
        }
        // The lease has outlived the jumps.
        #expect(try await world.recordedOwner() == world.owner)
    }

    @Test(
        "all lose their power at once: what was acknowledged is there",
        .enabled(if: isThorough && TestDisks.isAvailable, "make test-cluster, as root"))
    func power() async throws {
        var faults = try await ClusterFaults(
            try ProcessCluster(forwardsWrites: true, hasNetwork: true, hasDisks: true), seed: 1)
        let history = ClusterHistory(place: "/h")
        let client = ClusterHistory.Client(
            "c", history, ports: faults.cluster.ports, patience: .seconds(2), faults.starts)
        let thread = try NamedThread(name: "client") { client.run(seed: 1) }
        defer { history.end() }
        let all = ClusterFaults.names.indices.map { ClusterFaults.Begun(fault: .powerCut, process: $0) }
        for round in 0..<2 {
            let count = client.acknowledgedCount
            try await eventually("writes in round \(round)") { client.acknowledgedCount >= count + 20 }
            for fault in all { try faults.begin(fault) }
            for fault in all { try faults.end(fault) }
        }
        let count = client.acknowledgedCount
        try await eventually("writes at the end") { client.acknowledgedCount >= count + 5 }
        history.end()
        try await onThread { thread.join() }
        try await history.check(faults.cluster.ports, "after two losses of power")
        try await faults.expectAll("after two losses of power")
    }

    @Test(
        "a disk that is full: of a follower, it is not ready; of the owner, another node takes over; of a member of etcd, the other two go on",
        .enabled(if: isThorough && TestDisks.isAvailable, "make test-cluster, as root"))
    func fullDisks() async throws {
        var world = try await World(hasDisks: true)
        let disks = try #require(world.cluster.disks)
        func fill(_ node: Int, _ path: String, goOnAt others: [Int]) async throws {
            try disks.fill(world.name(node))
            for other in others { try await world.write("\(path)/\(other)", at: other) }
            try await eventually("that it is not ready") {
                try await world.ask("GET", "/readyz", at: node)?.status == 503
            }
            for other in others { try await world.write("\(path)/later/\(other)", at: other) }
            // It answers reads.
            #expect(try await world.read("start/0", at: node) == "1")
            try disks.free(world.name(node))
            try await world.awaitReadiness()
            for other in others { try await world.awaitReading("\(path)/later/\(other)", "1", at: node) }
            try await world.write("\(path)/again", at: node)
        }
        try await fill(world.followers[0], "follower", goOnAt: [world.owner, world.followers[1]])
        let owner = world.owner
        try await fill(owner, "owner", goOnAt: world.followers)
        world.owner = try await world.recordedOwner(except: owner)
        // A write for which the owner has no room, though it had some: it is more than may wait for its file.
        let full = world.owner
        try disks.fill(world.name(full), leaving: 60)
        let text = "\"" + String(repeating: "x", count: 9 << 20) + "\""
        let texts = "[" + [String](repeating: text, count: 11).joined(separator: ",") + "]"
        _ = try await world.ask("PUT", "/large", texts, at: full, within: .seconds(60))
        for node in world.followers { try await world.write("large-later/\(node)", at: node) }
        world.owner = try await world.recordedOwner(except: full)
        try disks.free(world.name(full))
        try await world.awaitReadiness()
        try disks.fill(ProcessCluster.memberNames[0])
        for node in 0..<3 { try await world.write("member/\(node)", at: node) }
        try disks.free(ProcessCluster.memberNames[0])
        if world.cluster.etcd.hasEnded(0) { try world.cluster.etcd.start(0) }
        world.cluster.etcd.kill(1)
        // The first one works again.
        for node in 0..<3 { try await world.write("member/later/\(node)", at: node) }
    }
}
