import HearthReplicatedLog
import Synchronization

/// Nodes that follow a log from another node instead of from etcd.
extension ClusterNode {
    static func carryOut(_ action: FeedAction, of database: String, at name: String, _ shared: Shared) {
        switch action {
        case .follow(let request):
            let (source, keeper) = shared.state.withLock { state in
                let source = state.source(of: database, for: request, at: name)
                state.sources[database] = source
                return (source, state.keepers[database])
            }
            if let hub = shared.hub.withLock({ $0 }), let source {
                hub.follow(request, of: database, at: source)
            } else {
                keeper?.post(.feedEnded)
            }
        case .unfollow: unfollow(database, shared)
        case .pass(let batch, let floor, let owner, let nodes):
            shared.hub.withLock { $0 }?.pass(batch, floor: floor, owner: owner, of: database, to: nodes)
        case .end(let nodes): shared.hub.withLock { $0 }?.endFeeds(of: database, to: nodes)
        case .close:
            unfollow(database, shared)
            shared.hub.withLock { $0 }?.endFeeds(of: database, to: nil)
        }
    }

    private static func unfollow(_ database: String, _ shared: Shared) {
        guard let source = shared.state.withLock({ $0.sources.removeValue(forKey: database) }) else { return }
        shared.hub.withLock { $0 }?.unfollow(database, at: source)
    }

    /// Another node says something of a feed.
    static func take(_ news: FeedNews, of database: String, from node: String, _ shared: Shared) {
        let (source, keeper) = shared.state.withLock { ($0.sources[database], $0.keepers[database]) }
        switch news {
        case .asked:
            if keeper?.take(news, from: node) != true {
                shared.hub.withLock { $0 }?.endFeeds(of: database, to: [node])
            }
        case .unfollowed: keeper?.take(news, from: node)
        case .fed, .ended: if source == node { keeper?.take(news, from: node) }
        }
    }
}

extension ClusterNode.State {
    /// The node to follow. One that may own the log follows the owner, any other one a node that may, so that owners
    /// send each batch to few.
    mutating func source(of database: String, for request: FeedRequest, at name: String) -> String? {
        guard let store = store(of: database) else { return nil }
        let running = store.nodes.filter { $0 != name && store.records[$0]?.peerAddress != nil }
        if !request.isCandidate, let holders = table.holders(of: database),
            let holder = running.filter(holders.contains).randomElement()
        {
            return holder
        }
        return running.first { $0 == request.owner }
    }
}
