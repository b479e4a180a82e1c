import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthSystem
import Synchronization

/// What a node does about an etcd cluster itself. It makes sure that the members are of one cluster, and has it forget
/// old revisions, so that it does not become full. Operators are told of members that do not answer, and why, and of an
/// etcd that is full. Needs no lease, which a full etcd does not grant. Used by one thread, which waits for etcd.
struct StoreUpkeep {
    private let name: String
    private let store: NodeStore
    private let client: EtcdClient
    private let news: @Sendable (ClusterNews) -> Void
    private let lookMilliseconds: Int64
    private var schedule: CompactionSchedule
    private var nextLook: Int64 = .min
    private var isFull = false
    /// Why the last attempt came to nothing, as operators were told.
    private var failure: EtcdError?

    private var nextProbe: Int64 = .min
    /// The members that did not answer, and why, as operators were told.
    private var failures: [EtcdMember: String] = [:]
    private var toldState = MemberIdentities.State.unknown

    private static let callDuration = Duration.seconds(1)
    private static let probeDuration = Duration.seconds(1)
    private static let probeMilliseconds: Int64 = 10_000
    /// Until the members agree.
    private static let probeMillisecondsMin: Int64 = 500

    init(
        _ name: String, _ store: NodeStore, _ options: CompactionSchedule.Options,
        news: @escaping @Sendable (ClusterNews) -> Void
    ) {
        (self.name, self.store, self.news) = (name, store, news)
        client = store.makeClient()
        lookMilliseconds = options.lookMilliseconds
        schedule = CompactionSchedule(options: options)
    }

    /// Does due work.
    mutating func run() {
        if Self.now >= nextProbe { probe() }
        guard case .agreed = toldState else { return }
        let now = Self.now
        guard now >= nextLook else { return }
        nextLook = now + lookMilliseconds
        guard let status = try? client.call(EtcdStatus(), within: Self.callDuration) else { return }
        if status.isFull != isFull {
            isFull = status.isFull
            news(.full(isFull, store: store.name, isHome: store.isHome))
        }
        let question = EtcdTransaction(
            then: [
                .range(EtcdRange(.key(StoreDirectory.nameKey))), .range(EtcdRange(NodeRecord.folder, keysOnly: true)),
            ], isRepeatable: true)
        // One of another name, or of none yet, may not be the cluster's.
        guard let reply = try? client.call(question, within: Self.callDuration),
            StoreDirectory.name(in: reply.values(0)) == store.name
        else { return }
        let rank = reply.values(1).count { NodeRecord.name(of: $0.key) < name }
        guard let revision = schedule.look(reply.revision, usedBytes: status.usedBytes, rank: rank, at: now) else {
            return
        }
        do throws(EtcdError) {
            try client.call(EtcdCompact(revision), within: Self.callDuration)
            failure = nil
        } catch .compacted {
            failure = nil
        } catch {
            if failure != error { news(.notCompacted(store: store.name, reason: "\(error)")) }
            failure = error
        }
    }

    private static var now: Int64 { MonotonicTime.currentWithSleep.milliseconds }

    /// Asks each member who it is.
    private mutating func probe() {
        let cluster = store.cluster
        let answers = store.members.map { member in
            let answer = Result { () throws(EtcdError) in try cluster.status(of: member, within: Self.probeDuration) }
            return (member, answer)
        }
        for (member, answer) in answers { tell(member, answer) }
        let state = store.identities.withLock { identities in
            identities.look(answers.map { ($0, try? $1.get().cluster) })
            return identities.state
        }
        if state != toldState {
            switch state {
            case .unknown: break
            case .agreed(let cluster):
                store.cluster.expect(cluster)
                if case .mixed = toldState { news(.mixedMembers(nil, store: store.name, isHome: store.isHome)) }
                store.wakeUp.signal()
            case .mixed(let reason): news(.mixedMembers(reason, store: store.name, isHome: store.isHome))
            }
            toldState = state
        }
        if case .agreed = state {
            nextProbe = Self.now + Self.probeMilliseconds
        } else {
            nextProbe = Self.now + Self.probeMillisecondsMin
        }
    }

    /// Tells operators whether a member answers, if that is new to them.
    private mutating func tell(_ member: EtcdMember, _ answer: Result<EtcdStatus.Reply, EtcdError>) {
        var reason: String?
        if case .failure(let error) = answer { reason = "\(error)" }
        if failures[member] != reason { news(.member("\(member)", problem: reason, store: store.name)) }
        failures[member] = reason
    }
}
