import Glibc
import HearthServerSupport
import HearthTestSupport
import Testing

/// What happens to a process of a cluster, to a connection of two of them, or to all at once.
enum ClusterFault: String, CaseIterable {
    case kill, pause
    /// No other process can reach it, nor it them.
    case disconnect
    /// It and another one cannot reach each other.
    case link
    /// What was not synced is lost.
    case powerCut = "power cut"
    case fullDisk = "full disk"
}

/// Injects faults into a cluster, and ends them.
struct ClusterFaults {
    private(set) var cluster: ProcessCluster
    let starts = Starts()
    private(set) var counts: [ClusterFault: Int] = [:]
    private var random: SeededRandom

    /// A fault that has begun.
    struct Begun {
        var fault: ClusterFault
        /// Nodes come first, then members.
        var process: Int
        /// The other end of a link.
        var other: String?
    }

    init(_ cluster: ProcessCluster, seed: UInt64) async throws {
        self.cluster = cluster
        random = SeededRandom(seed: seed)
        for node in 0..<3 {
            try await self.cluster.start(node)
            starts.began(node)
        }
    }

    static let names = ProcessCluster.nodeNames + ProcessCluster.memberNames

    /// One to three processes, or all of them, and something that happens to each.
    mutating func choose() -> [Begun] {
        let possible = ClusterFault.allCases.filter { cluster.disks != nil || $0 != .powerCut && $0 != .fullDisk }
        if Int.random(in: 0..<15, using: &random) == 0 {
            let fault = random.pick([ClusterFault.kill, .pause, cluster.disks == nil ? .kill : .powerCut])
            return Self.names.indices.map { Begun(fault: fault, process: $0) }
        }
        let count = random.pick([1, 1, 2, 2, 3])
        return Self.names.indices.shuffled(using: &random).prefix(count).map { process in
            let fault = random.pick(possible)
            let others = Self.names.filter { $0 != Self.names[process] }
            return Begun(fault: fault, process: process, other: fault == .link ? random.pick(others) : nil)
        }
    }

    /// How long it lasts: shorter than a lease, or longer.
    mutating func duration() -> Duration {
        let most = random.pick([300, 1500, 5000])
        return .milliseconds(Int.random(in: 20...most, using: &random))
    }

    mutating func begin(_ begun: Begun) throws {
        counts[begun.fault, default: 0] += 1
        let (process, name) = (begun.process, Self.names[begun.process])
        let cut = random.pick([ProcessNetwork.Cut.silent, .refused])
        switch begun.fault {
        case .kill: end(process)
        case .pause:
            if process < 3 { cluster.nodes[process]?.signal(SIGSTOP) } else { cluster.etcd.pause(process - 3) }
        case .disconnect: try cluster.cutOff(name, cut)
        case .link: try cluster.cutOff(name, from: begun.other.map { [$0] }, cut)
        case .powerCut:
            // The others hear nothing of it.
            try cluster.cutOff(name, .silent)
            try cluster.disks?.cutPower(name)
            end(process)
        case .fullDisk: try cluster.disks?.fill(name)
        }
    }

    mutating func end(_ begun: Begun) throws {
        let (process, name) = (begun.process, Self.names[begun.process])
        switch begun.fault {
        case .kill: try start(process)
        case .pause:
            if process < 3 { cluster.nodes[process]?.signal(SIGCONT) } else { cluster.etcd.resume(process - 3) }
        case .disconnect: try cluster.cutOff(name, nil)
        case .link: try cluster.cutOff(name, from: begun.other.map { [$0] }, nil)
        case .powerCut:
            try cluster.disks?.restorePower(name)
            try cluster.cutOff(name, nil)
            try start(process)
        case .fullDisk:
            try cluster.disks?.free(name)
            // A member of etcd ends when it cannot write.
            if process >= 3, cluster.etcd.hasEnded(process - 3) { try start(process) }
        }
    }

    private mutating func end(_ process: Int) {
        if process < 3 {
            starts.ended(process)
            cluster.nodes[process]?.kill()
        } else {
            cluster.etcd.kill(process - 3)
        }
    }

    private mutating func start(_ process: Int) throws {
        if process < 3 {
            try cluster.launch(process)
            starts.began(process)
        } else {
            try cluster.etcd.start(process - 3)
        }
    }

    /// Fails if a process has ended that should run. A member of etcd may notice late that its disk was full: then it
    /// ends, and is started again.
    mutating func expectAll(_ when: String) async throws {
        for node in 0..<3 {
            guard let process = cluster.nodes[node], process.hasEnded else { continue }
            Issue.record("\(when): node \(node + 1) has ended: \(try await process.outcome())")
        }
        for member in 0..<3 where cluster.etcd.hasEnded(member) {
            let log = cluster.etcd.log(member).split(separator: "\n")
            let lines = (log.filter { $0.contains("panic") }.suffix(2) + log.suffix(5)).joined(separator: "\n")
            if lines.contains("no space left on device") {
                try start(member + 3)
                continue
            }
            Issue.record("\(when): member \(member + 1) of etcd has ended: \(lines)")
        }
    }
}
