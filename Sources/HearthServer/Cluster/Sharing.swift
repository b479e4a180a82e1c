import HearthClusterNode
import HearthDatabaseHost
import HearthIdentity
import HearthServerLog
import HearthSystem
import Synchronization
import HearthAccess
import HearthAccountEndpoints

/// What a node of a cluster shares with the others besides databases: accounts, keys, rules and settings.
final class Sharing: Sendable {
    let documents: SharedDocuments
    private let identity: IdentityService?
    private let accounts: SharedAccounts

    /// Waits no longer for the cluster when the server starts.
    private static let patience = Duration.seconds(10)

    init(
        _ cluster: ClusterNode, _ database: ClusterDatabase, identity: IdentityService?, trust: Trust,
        rules: RulesInForce, log: Log, rulesChanged: @escaping @Sendable (_ database: String) -> Void
    ) throws(SystemError) {
        var fixed = [SharedDocument.serviceAccounts(trust.serviceAccounts), .openIDProviders(trust.providers)]
        if let keys = trust.keys { fixed.append(.signingKeys(keys)) }
        documents = try SharedDocuments { [fixed] isStopping in
            DocumentTable(
                database, cluster, fixed, rules, log, isStopping: isStopping, rulesChanged: rulesChanged)
        }
        accounts = SharedAccounts(node: cluster.name, database)
        self.identity = identity
    }

    /// Begins to share, and waits for a while until what the cluster has is here. Until then, accounts are not served.
    func begin() {
        let isHere = Semaphore()
        documents.begin { [weak identity, accounts] in
            // Tokens are signed with the keys that all nodes have.
            identity?.accounts.begin(accounts)
            isHere.signal()
        }
        let deadline = MonotonicTime.current + Self.patience
        guard isHere.wait(atMost: Self.patience), let identity else { return }
        identity.accounts.whenComplete { isHere.signal() }
        _ = isHere.wait(atMost: deadline - .current)
    }

    /// The cluster's database has more commits.
    func arrived() {
        documents.arrived()
        identity?.accounts.arrived()
    }

    /// To be called about once a second.
    func look() { documents.look() }

    /// What waits for other nodes is given up.
    func beginToStop() {
        documents.beginToStop()
        identity?.accounts.endSharing()
    }

    func stop() { documents.stop() }
}

/// Where a server finds what it shares with other nodes, which is made after those that need it.
final class SharingSlot: Sendable {
    private let slot = Mutex<Sharing?>(nil)

    var value: Sharing? {
        get { slot.withLock { $0 } }
        set { slot.withLock { $0 = newValue } }
    }
}
