import HearthTestSupport
import HearthReplicatedLog

/// Nodes that follow other nodes: what is sent between them, in order, until a link breaks.
extension Simulation {
    enum PeerNews {
        case asked(FeedRequest)
        case unfollowed
        case fed([UInt8], floor: UInt64, owner: String?)
        case ended
    }

    mutating func tell(_ news: PeerNews, from source: Int, to node: Int) throws(Violation) {
        switch news {
        case .asked(let request):
            if machines[node].process?.isOpen != true { return say(.ended, from: node, to: source) }
            try tell(node, .askedForFeed(by: "n\(source)", request))
        case .unfollowed: try tell(node, .unfollowed(by: "n\(source)"))
        case .fed(let batch, let floor, let owner):
            guard let process = machines[node].process, process.source == source else { return }
            let before = process.log.position.sequence
            try tell(node, .fed(batch, floor: floor, owner: owner))
            if let after = machines[node].process?.log.position.sequence, after > before { fedCount += 1 }
        case .ended: if machines[node].process?.source == source { try tell(node, .feedEnded) }
        }
    }

    mutating func say(_ news: PeerNews, from node: Int, to other: Int) {
        guard let incarnation = machines[other].process?.incarnation else { return }
        let arrival = max(machines[node].lastSaid[other] ?? 0, now + .random(in: 1...8, using: &random))
        machines[node].lastSaid[other] = arrival
        queue.add(.peer(node: other, incarnation: incarnation, from: node, news), at: arrival)
    }

    mutating func ask(_ request: FeedRequest, from node: Int) {
        let running = machines.indices.filter { $0 != node && machines[$0].process != nil }
        let source =
            request.isCandidate
            ? running.first { "n\($0)" == request.owner }
            : running.filter { isCandidate($0, as: node) }.randomElement(using: &random)
        machines[node].process?.source = source
        guard let source, Int.random(in: 0..<10, using: &random) > 0 else {
            // No link to it.
            machines[node].process?.source = node
            return say(.ended, from: node, to: node)
        }
        say(.asked(request), from: node, to: source)
    }

    mutating func endFeed(_ node: Int) {
        guard let source = machines[node].process?.source else { return }
        machines[node].process?.source = nil
        if source != node { say(.unfollowed, from: node, to: source) }
    }

    mutating func carryOut(feedAction action: ReplicatedLog.Action, at node: Int) {
        switch action {
        case .askForFeed(let request): ask(request, from: node)
        case .endFeed: endFeed(node)
        case .pass(let batch, let floor, let owner, let nodes):
            for other in nodes { say(.fed(batch, floor: floor, owner: owner), from: node, to: Self.index(other)) }
        case .endFeeds(let nodes): for other in nodes { say(.ended, from: node, to: Self.index(other)) }
        default: break
        }
    }

    /// Everything that is on its way between two nodes is lost, and each hears of that.
    mutating func breakLinks(of node: Int) {
        queue.removeAll { message in
            if case .peer(let other, _, let from, _) = message { other == node || from == node } else { false }
        }
        for other in machines.indices where other != node {
            for (one, its) in [(node, other), (other, node)] {
                if machines[one].process?.source == its { say(.ended, from: its, to: one) }
                say(.unfollowed, from: its, to: one)
            }
        }
    }

    /// Whether a node may own the log, as far as another one knows.
    private func isCandidate(_ other: Int, as node: Int) -> Bool {
        isPlaced ? machines[node].placement.holds("n\(other)", "main") : !isVisitor(other)
    }

    private static func index(_ name: String) -> Int { Int(name.dropFirst()) ?? 0 }
}
