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
        (askedAt, lastFed) = (now, now)
        // So that not all logs of a node ask at the same time.
        let jitter = Int64((transactions.owner.incarnation &+ serial &* 0x9E37_79B9) % 256) * feedPause / 1024
        nextFeed = now + feedPause + jitter
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

    /// Another node passes on a batch, or only says that it does.
    ///
    /// - parameter owner: the node that owns the log, as far as that node knows.
    mutating func fed(_ bytes: [UInt8], floor: UInt64, owner: String?) {
        guard case .fed = following else { return }
        lastFed = now
        self.floor = max(self.floor, floor)
        tail.trim(to: self.floor)
        // A node that may own the log watches this itself. Any other one that was given the log reads it, and ends its
        // term.
        if rank == nil {
            ownerName = owner
            if owner == transactions.owner.node { return following = .reading }
        }
        let before = position.sequence
        if !bytes.isEmpty {
            guard let batch = LogBatch(bytes), batch.epoch == position.epoch,
                batch.plainBytes <= 2 * options.partBytesMax
            else { return following = .reading }
            take(batch)
        }
        if position.sequence > before || now - askedAt >= options.feedSilenceMilliseconds {
            feedPause = options.feedMilliseconds
        }
    }

    /// The other node does not pass on anything, or nothing more.
    mutating func feedEnded() { if case .fed = following { following = .reading } }

    // MARK: Passing on

    /// The node has the log, or reads it. One that cannot own the log passes nothing on: it may watch nothing itself.
    private var passesOn: Bool {
        guard options.isFed, hasBegun, following != .copying, unfollowable == nil else { return false }
        return switch role {
        case .owner: true
        case .follower, .claimed: rank != nil
        case .leaving: false
        }
    }

    /// The node knows what the log has, and would hear of more.
    private var isUpToDate: Bool {
        switch following {
        case .watching, .fed: true
        case .idle: isOwner
        case .reading, .readingParts, .copying: false
        }
    }

    mutating func asked(by node: String, _ request: FeedRequest) {
        guard passesOn, request.epoch == position.epoch,
            let batches = recent.batches(after: request.sequence, upTo: position.sequence)
        else {
            followers.remove(node)
            return emit(.endFeeds(of: [node]))
        }
        followers.insert(node)
        pass([], to: [node])
        for batch in batches { pass(batch.bytes, to: [node]) }
    }

    private mutating func pass(_ batch: [UInt8], to nodes: [String]) {
        emit(.pass(batch, floor: floor, owner: ownerName, to: nodes))
    }

    mutating func passOn(_ batch: LogBatch) {
        guard passesOn else { return }
        recent.add(batch, at: now, keeping: options.recentBytesMax)
        if !followers.isEmpty { pass(batch.bytes, to: followers.sorted()) }
    }

    /// Nodes that follow this one hear of it at least so often, and of another owner at once. A node that does not get
    /// to the end of the log says nothing, so others look for a better one.
    mutating func pulse() {
        guard now >= nextPulse || ownerName != pulsedOwner else { return }
        recent.forget(before: now - options.recentMilliseconds)
        guard isUpToDate, passesOn else { return }
        (nextPulse, pulsedOwner) = (now + options.pulseMilliseconds, ownerName)
        if !followers.isEmpty { pass([], to: followers.sorted()) }
    }

    /// Ends the feeds of others once the node has lost the log, or goes on with another history.
    mutating func endFeedsIfLost() {
        if recent.isEmpty && followers.isEmpty || passesOn && position.epoch == passedEpoch { return }
        recent = RecentBatches()
        if !followers.isEmpty { emit(.endFeeds(of: followers.sorted())) }
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
