import HearthEtcdMessages

/// Following another node instead of the store, and passing on what the log has.
///
/// A node that has read the log to its end asks another node to pass on the batches after that
/// (``Action/askForFeed(_:)``). One that may own the log follows the owner, and watches in the store only who that is.
/// Any other one watches nothing. The other node passes on only what the store has acknowledged, so nothing of it is
/// ever taken back. A gap, another history and the end of the feed lead back to reading the log from the store.
extension ReplicatedLog {
    /// It is time to follow another node.
    var mayBeFed: Bool {
        guard options.isFed, role == .follower, hasBegun, lease != nil, let ownerName else { return false }
        return ownerName != transactions.owner.node && now >= nextFeed
    }

    mutating func follow(after revision: Int64) {
        guard let epoch = position.epoch, let ownerName else { return }
        serial += 1
        following = .fed(serial: serial)
        lastFed = now
        nextFeed = now + feedPause
        feedPause = min(2 * feedPause, options.feedMillisecondsMax)
        if rank != nil {
            emit(.watch(EtcdWatch(.key(transactions.keys.owner), from: revision + 1), serial: serial))
        }
        emit(
            .askForFeed(
                FeedRequest(epoch: epoch, sequence: position.sequence, owner: ownerName, isCandidate: rank != nil)))
    }

    /// Nothing was heard of the other node for too long.
    var isFeedSilent: Bool {
        if case .fed = following { now - lastFed >= options.feedSilenceMilliseconds } else { false }
    }

    /// Another node passes on a batch, or only says that it will.
    mutating func fed(_ bytes: [UInt8], floor: UInt64) {
        guard case .fed = following else { return }
        lastFed = now
        feedPause = options.feedMilliseconds
        self.floor = max(self.floor, floor)
        tail.trim(to: self.floor)
        if bytes.isEmpty { return }
        guard let batch = LogBatch(bytes) else { return following = .reading }
        take(batch)
    }

    /// The other node does not pass on anything, or nothing more.
    mutating func feedEnded() { if case .fed = following { following = .reading } }

    // MARK: Passing on

    /// The node knows what the log has, as far as it goes.
    private var passesOn: Bool {
        switch following {
        case .watching, .fed: role == .follower && hasBegun && ownerName != nil
        case .idle: isOwner
        case .reading, .readingParts, .copying: false
        }
    }

    mutating func asked(by node: String, _ request: FeedRequest) {
        guard passesOn, request.epoch == position.epoch,
            let batches = recent.batches(after: request.sequence, upTo: position.sequence)
        else { return emit(.endFeeds(of: [node])) }
        followers.insert(node)
        emit(.pass([], floor: floor, to: [node]))
        for batch in batches { emit(.pass(batch.bytes, floor: floor, to: [node])) }
    }

    mutating func passOn(_ batch: LogBatch) {
        guard options.isFed else { return }
        recent.add(batch, keeping: options.recentBytesMax)
        if !followers.isEmpty { emit(.pass(batch.bytes, floor: floor, to: followers.sorted())) }
    }

    /// Nodes that follow this one hear of it at least so often.
    mutating func pulse() {
        guard now >= nextPulse else { return }
        nextPulse = now + options.pulseMilliseconds
        if !followers.isEmpty { emit(.pass([], floor: floor, to: followers.sorted())) }
    }

    /// Ends the feeds of others once the node does not know any more what the log has.
    mutating func endFeedsIfLost() {
        if recent.isEmpty && followers.isEmpty || passesOn { return }
        recent = RecentBatches()
        if followers.isEmpty { return }
        emit(.endFeeds(of: followers.sorted()))
        followers = []
    }
}

/// A node asks another one to pass on what a log has after a position.
package struct FeedRequest: Hashable, Sendable {
    package var epoch: UInt64
    package var sequence: UInt64
    /// The node that owns the log, as far as the asking one knows.
    package var owner: String
    /// The asking node may own the log: it follows the owner. Any other one follows one that may.
    package var isCandidate: Bool

    package init(epoch: UInt64, sequence: UInt64, owner: String = "", isCandidate: Bool = false) {
        (self.epoch, self.sequence) = (epoch, sequence)
        (self.owner, self.isCandidate) = (owner, isCandidate)
    }
}
