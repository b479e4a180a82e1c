import HearthStorageErrors
import HearthSystem

/// The work on accounts that several nodes share, on the accounts' thread.
///
/// Jobs are rehearsed on this node's data, and undone. The rows that they have changed are proposed as a commit on
/// top of the newest one that this node knows. Once the commit is taken, it comes back with the log, as it does at all
/// nodes; then the jobs are answered. If it is refused, other commits came before: the jobs are rehearsed again after
/// those. Jobs that change nothing are answered once it is known that they have seen the newest state. So answers are
/// as if all jobs of all nodes were done one after the other, and any node may do them.
///
/// The thread never waits for an answer. Jobs that need only this node's data are done meanwhile.
final class SharedTurns {
    /// The thread's inputs other than jobs.
    enum News: Sendable {
        case begin(any AccountSharing)
        /// The log may have more.
        case arrived
        case answered(serial: UInt64, ProposalOutcome)
        case piece([SharedRow])
        case wasRead(SharedCommit.Place?)
        /// To be called once the accounts of the cluster are here.
        case tellCompletion(@Sendable () -> Void)
        /// Nothing is proposed any more.
        case end
    }

    private struct Proposal {
        enum Purpose {
            case jobs([AccountJob])
            /// To find out whether the accounts of the cluster are there.
            case look
            /// To find out whose rows the file has, which the log does not continue.
            case origin
            /// The accounts of this node become those of the cluster; with the rows that come later.
            case found(rest: ArraySlice<[SharedRow]>)
        }

        var serial: UInt64
        var purpose: Purpose
        /// The one on top of which it is proposed.
        var version: Int64
        /// Nil if nothing is changed.
        var commit: SharedCommit?
        var deadline: MonotonicTime
    }

    private enum State {
        /// Nothing is known of the other nodes.
        case waiting
        case idle
        case proposing(Proposal)
        /// The rows are being replaced by those that other nodes have.
        case reading
        /// The accounts cannot be shared, for good.
        case stuck(StorageError)
    }

    private let file: AccountFile
    private let post: @Sendable (News) -> Void
    private let observe: ([Revocation]) -> Void
    private let observeStorage: (StorageError?) -> Void
    private var sharing: (any AccountSharing)?
    private var state = State.waiting
    private var queue: [(job: AccountJob, deadline: MonotonicTime)] = []
    private var lastSerial: UInt64 = 0
    /// Nil if the rows of the file were never shared.
    private var place: SharedCommit.Place?
    private var revocations: [Revocation] = []
    /// The rows are being replaced, or were, and what users have lost by that was not told yet.
    private var isReplacing = false
    private var fileError: StorageError?
    private var toldError: StorageError?
    private var whenComplete: [@Sendable () -> Void] = []
    /// The state of the cluster is known.
    private var hasLooked = false
    private var isOver = false
    private var nextLook = MonotonicTime.current

    /// A job that is not done after this time is refused.
    private static let patience = Duration.seconds(10)
    private static let lookInterval = Duration.milliseconds(200)
    private static let jobsMax = 64
    private static let queueMax = 4096
    /// Of the rows of a commit; that of one job may have more.
    private static let commitBytesMax = 8 << 20
    private static let notHere = StorageError.overloaded("the accounts of the cluster are not here yet")

    init(
        _ file: AccountFile, post: @escaping @Sendable (News) -> Void, observe: @escaping ([Revocation]) -> Void,
        observeStorage: @escaping (StorageError?) -> Void
    ) {
        self.file = file
        self.post = post
        self.observe = observe
        self.observeStorage = observeStorage
        attempt { () throws(StorageError) in place = try file.place() }
    }

    // MARK: Jobs

    func run(_ jobs: [AccountJob]) {
        runOwn(jobs.filter { $0.need == .nothing || $0.need == .own && isHere })
        for job in jobs where job.need == .newest || job.need == .own && !isHere {
            if let obstacle {
                job.finish(obstacle)
            } else if queue.count >= Self.queueMax {
                job.finish(.overloaded("too many requests about accounts wait"))
            } else {
                queue.append((job, .current + Self.patience))
            }
        }
    }

    private func runOwn(_ jobs: [AccountJob]) {
        if jobs.isEmpty { return }
        var failure: StorageError?
        do throws(StorageError) {
            _ = try file.transaction { for job in jobs { job.work(file) } }
        } catch {
            failure = error
        }
        for job in jobs { job.finish(failure) }
        if let error = file.takeFailure() {
            fileError = error
        } else if jobs.contains(where: \.isProbe) {
            fileError = nil
        }
    }

    /// Whether the file has the accounts of the cluster, as they are now or were before.
    private var isHere: Bool {
        switch state {
        case .reading, .stuck: return false
        case .waiting, .idle, .proposing: break
        }
        if isAskingForOrigin { return false }
        return place.map { $0.version > 0 && !$0.author.isFounding } ?? false
    }

    /// Why no jobs can be done at present.
    private var problem: StorageError? { obstacle ?? (isHere ? nil : Self.notHere) }

    /// Why jobs need not wait. Those that find no accounts here wait for them, and are refused once their time is up.
    private var obstacle: StorageError? {
        if isOver { return .stopping }
        switch state {
        case .waiting: return Self.notHere
        case .stuck(let error): return error
        case .idle, .proposing, .reading: return nil
        }
    }

    /// Does the work that is possible now. After each batch.
    func goOn() {
        let now = MonotonicTime.current
        queue.removeAll { job, deadline in
            guard let error = obstacle ?? (now >= deadline ? problem ?? .noQuorum : nil) else { return false }
            job.finish(error)
            return true
        }
        if case .proposing(let proposal) = state, now >= proposal.deadline {
            end(proposal, .noQuorum)
            if case .origin = proposal.purpose { propose(.origin, nil) }
        }
        if case .idle = state {
            if problem == nil, hasLooked {
                if !queue.isEmpty { rehearse() }
            } else if now >= nextLook {
                nextLook = now + Self.lookInterval
                propose(.look, nil)
            }
        }
        if !revocations.isEmpty { observe(revocations) }
        revocations = []
        if problem == nil, hasLooked {
            for body in whenComplete { body() }
            whenComplete = []
        }
        fileError = file.takeFailure() ?? fileError
        let error = isOver ? toldError : fileError ?? problem
        if error != toldError { observeStorage(error) }
        toldError = error
    }

    // MARK: News

    func take(_ news: News) {
        if isOver { return }
        switch news {
        case .begin(let sharing):
            self.sharing = sharing
            if case .waiting = state { state = .idle }
        case .arrived: catchUp()
        case .answered(let serial, let outcome): answered(serial, outcome)
        case .piece(let rows):
            guard case .reading = state else { return }
            attempt { () throws(StorageError) in try file.takePiece(rows) }
        case .wasRead(let place): wasRead(place)
        case .tellCompletion(let body): whenComplete.append(body)
        case .end:
            isOver = true
            if case .proposing(let proposal) = state { end(proposal, .stopping) }
            sharing = nil
        }
    }

    private func attempt(_ body: () throws(StorageError) -> Void) {
        do throws(StorageError) { try body() } catch { file.note(error) }
    }

    /// Takes the commits of the log. False if this node does not have all of them afterwards.
    @discardableResult
    private func catchUp() -> Bool {
        guard let sharing else { return false }
        switch state {
        case .idle, .proposing: break
        case .waiting, .reading, .stuck: return false
        }
        do throws(StorageError) {
            if place == nil, try file.hasRows() {
                guard let isFounded = try mayFound(sharing) else { return false }
                if !isFounded { return true }
            }
            let start = place ?? SharedCommit.Place()
            var isSeen = false
            let outcome = try file.take(after: start) { (take) throws(StorageError) in
                try sharing.forEachCommit(after: start) { (commit, sequence) throws(StorageError) in
                    if isPending(commit) { isSeen = true }
                    try take(commit, sequence)
                }
            }
            guard let outcome else {
                askForOrigin()
                return false
            }
            place = outcome.place
            if isAskingForOrigin { (state, nextLook) = (.idle, .current) }
            // Those of the replacement include these.
            revocations += isReplacing ? try file.finishReplacing() : outcome.revocations
            isReplacing = false
            if isSeen, case .proposing(let proposal) = state { taken(proposal) }
            return true
        } catch {
            file.note(error)
            return false
        }
    }

    private func isPending(_ commit: SharedCommit) -> Bool {
        guard case .proposing(let proposal) = state, let own = proposal.commit else { return false }
        return commit.version == own.version && commit.author == own.author
    }

    /// The file has rows that were never shared. They may become the cluster's if that has none.
    ///
    /// - returns: whether this node has begun to share them; nil if another one has shared others.
    private func mayFound(_ sharing: any AccountSharing) throws(StorageError) -> Bool? {
        var (ownCount, otherCount) = (0, 0)
        let end = try sharing.forEachCommit(after: SharedCommit.Place()) { (commit, _) throws(StorageError) in
            if commit.author.isAuthor(sharing.node) { ownCount += 1 } else { otherCount += 1 }
        }
        guard end != nil, otherCount == 0 else {
            refuseFile()
            return nil
        }
        return ownCount > 0
    }

    /// The log does not continue the file from where it is. That may be for want of older commits, or because the log
    /// has lost its end. But it may also be that of a cluster that has no accounts yet, or has others.
    private func askForOrigin() {
        if isAskingForOrigin { return }
        if case .proposing(let proposal) = state { again(proposal) }
        propose(.origin, nil)
    }

    private var isAskingForOrigin: Bool {
        if case .proposing(let proposal) = state, case .origin = proposal.purpose { true } else { false }
    }

    /// Decides on rows that the log does not continue. They go only if the cluster has had them.
    ///
    /// - parameter newest: the version of the accounts that the cluster has.
    private func origin(newest: Int64) {
        guard let sharing else { return }
        attempt { () throws(StorageError) in
            guard let place else {
                // A new node. Rows that were never shared stay (``mayFound(_:)``).
                if try file.hasRows() { (state, nextLook) = (.idle, .current) } else { readAll() }
                return
            }
            if newest == 0, place.version > 0 {
                (state, nextLook) = (.idle, .current)
                forgetPlace(isFounded: false)
                return
            }
            let isOwn = place.version == 0 ? true : try sharing.hasHad(place)
            if isOwn { readAll() } else { refuseFile() }
        }
    }

    /// The file is ahead of the cluster: that is another one, or was restored without shared data.
    private func forgetPlace(isFounded: Bool) {
        if isFounded { return refuseFile() }
        attempt { () throws(StorageError) in
            try file.forgetPlace()
            place = nil
        }
    }

    private func refuseFile() {
        let problem = "has accounts that are not those of the cluster: move it away, or found the cluster with it"
        let error = StorageError.damaged("\(file.path) \(problem)")
        if case .proposing(let proposal) = state { end(proposal, error) }
        state = .stuck(error)
    }

    // MARK: Proposing

    private func propose(_ purpose: Proposal.Purpose, _ rows: [SharedRow]?, prefix: String = "") {
        lastSerial += 1
        let version = place?.version ?? 0
        let author = "\(prefix)\(sharing?.node ?? "") \(UInt64.random(in: 0 ... .max))"
        ask(
            Proposal(
                serial: lastSerial, purpose: purpose, version: version,
                commit: rows.map { SharedCommit(version: version + 1, author: author, rows: $0) },
                deadline: .current + Self.patience))
    }

    private func ask(_ proposal: Proposal, isRepeated: Bool = false) {
        state = .proposing(proposal)
        sharing?.propose(proposal.commit, isRepeated: isRepeated) { [post, serial = proposal.serial] outcome in
            post(.answered(serial: serial, outcome))
        }
    }

    private func rehearse() {
        var count = min(queue.count, Self.jobsMax)
        while true {
            let jobs = queue.prefix(count).map(\.job)
            do throws(StorageError) {
                let rows = try file.rehearse { for job in jobs { job.work(file) } }
                if count > 1, rows.reduce(0, { $0 + $1.byteCount }) > Self.commitBytesMax {
                    count /= 2
                    continue
                }
                queue.removeFirst(count)
                return propose(.jobs(jobs), rows.isEmpty ? nil : rows)
            } catch {
                queue.removeFirst(count)
                for job in jobs { job.finish(error) }
                return
            }
        }
    }

    private func answered(_ serial: UInt64, _ outcome: ProposalOutcome) {
        let isCurrent = catchUp()
        // Seen in the log, it is done.
        guard case .proposing(let proposal) = state, proposal.serial == serial else { return }
        switch outcome {
        // It comes with the log.
        case .taken: break
        case .refused(let newest) where isAskingForOrigin: origin(newest: newest)
        case .refused(let newest) where isCurrent && (place?.version ?? 0) < newest:
            // The log does not have it any more.
            readAll()
        case .refused(let newest) where isCurrent && proposal.version > newest:
            again(proposal)
            forgetPlace(isFounded: newest > 0)
        case .refused where isCurrent && proposal.commit == nil && (place?.version ?? 0) == proposal.version:
            // The newest state has been read.
            end(proposal, nil)
            hasLooked = true
            if case .look = proposal.purpose { found() }
        case .refused where isCurrent && (place?.version ?? 0) > proposal.version: again(proposal)
        case .refused, .unknown: ask(proposal, isRepeated: true)
        }
    }

    /// Other commits came before.
    private func again(_ proposal: Proposal) {
        state = .idle
        switch proposal.purpose {
        case .jobs(let jobs): queue.insert(contentsOf: jobs.map { ($0, proposal.deadline) }, at: 0)
        // This node has come further, so it looks again at once: nothing else may happen that would wake the thread.
        case .look: nextLook = .current
        case .found, .origin: break
        }
    }

    private func taken(_ proposal: Proposal) {
        end(proposal, nil)
        if case .found(let rest) = proposal.purpose, !rest.isEmpty { found(rest) }
    }

    private func end(_ proposal: Proposal, _ error: StorageError?) {
        state = .idle
        if case .jobs(let jobs) = proposal.purpose { for job in jobs { job.finish(error) } }
    }

    // MARK: Founding

    /// Gives the cluster the accounts of this node if it has none. A node that was interrupted while it did that begins
    /// again.
    private func found() {
        guard let sharing else { return }
        if let place, place.version > 0 {
            guard place.author.isFounding, place.author.isAuthor(sharing.node) else { return }
        }
        attempt { () throws(StorageError) in
            var pieces: [[SharedRow]] = []
            try file.forEachPiece(byteCount: Self.commitBytesMax) { pieces.append($0) }
            // Files of earlier versions may have some.
            if let long = pieces.joined().first(where: \.hasLongKey) {
                return state = .stuck(AccountFile.longKey(long))
            }
            found(pieces.isEmpty ? [[]] : pieces[...])
        }
    }

    /// The last commit completes the accounts.
    private func found(_ pieces: ArraySlice<[SharedRow]>) {
        propose(
            .found(rest: pieces.dropFirst()), pieces.first, prefix: pieces.count > 1 ? SharedCommit.foundingPrefix : "")
    }

    // MARK: Reading all

    /// The log does not reach back to where the file is.
    private func readAll() {
        guard let sharing else { return }
        if case .proposing(let proposal) = state { again(proposal) }
        attempt { () throws(StorageError) in
            try file.clear()
            isReplacing = true
            place = SharedCommit.Place()
            state = .reading
            sharing.readAll { [post] rows in
                post(.piece(rows))
            } then: { [post] place in
                post(.wasRead(place))
            }
        }
    }

    private func wasRead(_ new: SharedCommit.Place?) {
        guard case .reading = state else { return }
        state = .idle
        guard let new else {
            nextLook = .current + Self.lookInterval
            return
        }
        attempt { () throws(StorageError) in
            try file.setPlace(new)
            place = new
        }
        catchUp()
    }
}

extension SharedCommit {
    fileprivate static let foundingPrefix = "founding "
}

extension String {
    /// Whether an author is still to add accounts that the cluster begins with.
    fileprivate var isFounding: Bool { hasPrefix(SharedCommit.foundingPrefix) }

    /// Whether the author is a node.
    fileprivate func isAuthor(_ node: String) -> Bool {
        hasPrefix("\(node) ") || hasPrefix("\(SharedCommit.foundingPrefix)\(node) ")
    }
}
