import HearthTestSupport

/// Something that goes wrong at some time.
struct Fault: CustomStringConvertible {
    enum Kind: CaseIterable {
        /// The next request of the node does not reach the engine.
        case loseRequest
        /// The engine carries it out, but its reply is lost.
        case loseReply
        /// It arrives after the node has given up waiting for it.
        case delayRequest
        /// It arrives twice.
        case repeatRequest
        /// The node is told that nothing was done, and why.
        case refuseRequest
        /// The node does nothing for a while, and then continues as if no time had passed.
        case pause
        /// The node's process ends and starts again.
        case kill
        /// The same, and what its files had not synced is lost.
        case powerCut
        /// The node cannot reach the engine for a while.
        case cutOff
        /// The engine is unreachable for a while.
        case outage
        /// The engine takes no more values for a while.
        case full
        /// The engine ends the node's lease before its time.
        case endLease
        /// The engine lets leases live for longer.
        case prolongLeases
        case breakWatch
        /// What is on its way between the node and others is lost.
        case breakLinks
        /// The node's watch says nothing for a while, though it is open.
        case stallWatch
        /// The node's watch repeats earlier events.
        case repeatWatch
        case compact
        /// The node's own files take no records for a while, so it may not own the log.
        case fullDisk
        /// The other nodes do not reach it for a while, so it may not own the log either.
        case unreached
        /// Somebody asks that the node own the log, and waits for a while.
        case move
        /// An operator restores what some node has of the log, at the node.
        case restore
        /// The engine loses everything. After a while an operator begins the log again with the files that reach furthest.
        case loseEngine
    }

    var time: Int64
    var node: Int
    var kind: Kind
    var milliseconds: Int64

    var description: String { "\(time) ms, node \(node): \(kind) (\(milliseconds) ms)" }

    /// A list that depends on the seed alone.
    static func list(seed: UInt64, nodes: Int, from start: Int64, count: Int) -> [Fault] {
        var random = SeededRandom(seed: seed)
        // Some runs have few kinds of faults, which come together more often then. The log is moved in all of them.
        let usual = Kind.allCases.filter { $0 != .restore && $0 != .loseEngine }
        let kinds =
            usual.shuffled(using: &random).prefix(Bool.random(using: &random) ? 4 : usual.count) + [.move]
        // They begin a history each, in which the log is to come to something.
        let breaks: [Kind] =
            seed.isMultiple(of: 3) ? [.restore, .loseEngine] : seed.isMultiple(of: 2) ? [.restore] : []
        let endsLeases = seed.isMultiple(of: 2)
        var time = start
        var faults: [Fault] = []
        while faults.count < count {
            // In bursts, with quiet times in which something gets done.
            time +=
                Int.random(in: 0..<8, using: &random) == 0
                ? Int64.random(in: 500...5000, using: &random) : Int64.random(in: 1...120, using: &random)
            var kind = kinds.randomElement(using: &random)!
            if kind == .endLease, !endsLeases { kind = .prolongLeases }
            if let new = breaks.randomElement(using: &random), Int.random(in: 0..<20, using: &random) == 0 {
                kind = new
            }
            faults.append(
                Fault(
                    time: time, node: Int.random(in: 0..<nodes, using: &random), kind: kind,
                    milliseconds: Int64.random(in: 1...3, using: &random)
                        * Int64.random(in: 10...2000, using: &random)))
        }
        return faults
    }
}
