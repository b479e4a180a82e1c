import HearthReplicatedLog

/// Feeds between nodes go over their links: requests and batches arrive once, in order, or the link is lost, which ends
/// the feed at both nodes.
extension PeerLinks {
    /// A node that takes nothing while so many bytes wait for it reads the log from etcd. Answers to its writes wait
    /// after them.
    static let waitingBytesMax = 2 << 20

    // MARK: Following another node

    func follow(_ request: FeedRequest, of database: String, at node: String) {
        guard let link = outgoing[node], link.connection?.knowsFeeds == true else {
            return delegate.feeds(database, node, .ended)
        }
        link.lastFeed += 1
        link.feeds[link.lastFeed] = database
        link.session.send(
            PeerMessage.follow(
                feed: link.lastFeed, database: database, epoch: request.epoch, sequence: request.sequence
            ).bytes)
        pump(link)
    }

    func unfollow(_ database: String, at node: String) {
        guard let link = outgoing[node] else { return }
        for feed in link.feeds.filter({ $0.value == database }).keys.sorted() {
            link.feeds[feed] = nil
            link.session.send(PeerMessage.unfollow(feed: feed).bytes)
        }
        pump(link)
    }

    /// A batch, or its end, for one of this node's feeds. What comes of one that was given up is ignored.
    func take(_ news: FeedNews, _ feed: UInt64, from link: OutgoingLink) {
        guard let database = link.feeds[feed] else { return }
        if news == .ended { link.feeds[feed] = nil }
        delegate.feeds(database, link.node, news)
    }

    func endFeeds(of link: OutgoingLink) {
        for (_, database) in link.feeds.sorted(by: { $0.key < $1.key }) {
            delegate.feeds(database, link.node, .ended)
        }
        link.feeds = [:]
    }

    // MARK: Passing on

    func begin(_ feed: UInt64, of database: String, _ request: FeedRequest, for link: IncomingLink) {
        link.feeds[database] = feed
        delegate.feeds(database, link.node, .asked(request))
    }

    func end(_ feed: UInt64, for link: IncomingLink) {
        guard let database = link.feeds.first(where: { $0.value == feed })?.key else { return }
        link.feeds[database] = nil
        delegate.feeds(database, link.node, .unfollowed)
    }

    func pass(_ batch: [UInt8], floor: UInt64, owner: String?, of database: String, to nodes: [String]) {
        for (link, feed) in links(to: nodes, database) {
            if link.session.keptBytes > Self.waitingBytesMax {
                link.feeds[database] = nil
                link.session.send(PeerMessage.feedEnded(feed: feed).bytes)
                delegate.feeds(database, link.node, .unfollowed)
            } else {
                link.session.send(PeerMessage.fed(feed: feed, floor: floor, owner: owner, batch: batch).bytes)
            }
            pump(link)
        }
    }

    /// - parameter nodes: nil for all.
    func endFeeds(of database: String, to nodes: [String]?) {
        for (link, feed) in links(to: nodes, database) {
            link.feeds[database] = nil
            link.session.send(PeerMessage.feedEnded(feed: feed).bytes)
            pump(link)
        }
    }

    func endFeeds(of link: IncomingLink) {
        for database in link.feeds.keys.sorted() { delegate.feeds(database, link.node, .unfollowed) }
        link.feeds = [:]
    }

    private func links(to nodes: [String]?, _ database: String) -> [(IncomingLink, UInt64)] {
        incoming.values.compactMap { link in
            guard let feed = link.feeds[database], nodes?.contains(link.node) ?? true else { return nil }
            return (link, feed)
        }
    }
}
