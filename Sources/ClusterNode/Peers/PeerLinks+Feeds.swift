import HearthReplicatedLog

/// Feeds between nodes go over their links: requests and batches arrive once, in order, or the link is lost, which ends
/// the feed at both nodes.
extension PeerLinks {
    /// A node that takes nothing while so many bytes wait for it reads the log from etcd.
    static let waitingBytesMax = 16 << 20

    // MARK: Following another node

    func follow(_ request: FeedRequest, of database: String, at node: String) {
        guard let link = outgoing[node], link.connection?.knowsFeeds == true else {
            return delegate.feeds(database, node, .ended)
        }
        link.feeds.insert(database)
        link.session.send(
            PeerMessage.follow(database: database, epoch: request.epoch, sequence: request.sequence).bytes)
        pump(link)
    }

    func unfollow(_ database: String, at node: String) {
        guard let link = outgoing[node], link.feeds.remove(database) != nil else { return }
        link.session.send(PeerMessage.unfollow(database: database).bytes)
        pump(link)
    }

    func endFeeds(of link: OutgoingLink) {
        for database in link.feeds.sorted() { delegate.feeds(database, link.node, .ended) }
        link.feeds = []
    }

    // MARK: Passing on

    func pass(_ batch: [UInt8], floor: UInt64, of database: String, to nodes: [String]) {
        let message = PeerMessage.fed(database: database, floor: floor, batch: batch).bytes
        for link in links(to: nodes, database) {
            if link.session.keptBytes > Self.waitingBytesMax {
                link.feeds.remove(database)
                link.session.send(PeerMessage.feedEnded(database: database).bytes)
                delegate.feeds(database, link.node, .unfollowed)
            } else {
                link.session.send(message)
            }
            pump(link)
        }
    }

    /// - parameter nodes: nil for all.
    func endFeeds(of database: String, to nodes: [String]?) {
        for link in links(to: nodes, database) {
            link.feeds.remove(database)
            link.session.send(PeerMessage.feedEnded(database: database).bytes)
            pump(link)
        }
    }

    func endFeeds(of link: IncomingLink) {
        for database in link.feeds.sorted() { delegate.feeds(database, link.node, .unfollowed) }
        link.feeds = []
    }

    private func links(to nodes: [String]?, _ database: String) -> [IncomingLink] {
        incoming.values.filter { $0.feeds.contains(database) && nodes?.contains($0.node) ?? true }
            .sorted { $0.node < $1.node }
    }
}
