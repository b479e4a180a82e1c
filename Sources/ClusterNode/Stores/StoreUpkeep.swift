import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthSystem

/// What a node does so that an etcd cluster does not become full: it has it forget old revisions, and tells operators
/// if it takes no more. Needs no lease, which a full etcd does not grant. Used by one thread, which waits for etcd.
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

    private static let callDuration = Duration.seconds(1)

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
        let now = MonotonicTime.currentWithSleep.milliseconds
        guard now >= nextLook else { return }
        nextLook = now + lookMilliseconds
        guard let status = try? client.call(EtcdStatus(), within: Self.callDuration) else { return }
        if status.isFull != isFull {
            isFull = status.isFull
            news(.full(isFull, store: store.name))
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
}
