package import HearthClusterNode
package import HearthDatabaseHost
package import HearthIdentity
package import HearthServerLog
package import HearthSystem
import Synchronization
package import HearthAccess

/// The data that a node of a cluster shares with the others in addition to databases: accounts, keys, rules and
/// settings.
package final class Sharing: Sendable {
    package let documents: SharedDocuments
    /// Those of this node; nil if it serves none.
    private let accounts: Accounts?
    private let sharedAccounts: SharedAccounts

    /// Waits no longer for the cluster when the server starts.
    private static let patience = Duration.seconds(10)

    package init(
        _ cluster: ClusterNode, _ database: ClusterDatabase, accounts: Accounts?, trust: Trust,
        rules: RulesInForce, log: Log, rulesChanged: @escaping @Sendable (_ database: String) -> Void
    ) throws(SystemError) {
        var fixed = [SharedDocument.serviceAccounts(trust.serviceAccounts), .openIDProviders(trust.providers)]
        if let keys = trust.keys { fixed.append(.signingKeys(keys)) }
        documents = try SharedDocuments { [fixed] isStopping in
            DocumentTable(
                database, cluster, fixed, rules, log, isStopping: isStopping, rulesChanged: rulesChanged)
        }
        sharedAccounts = SharedAccounts(node: cluster.name, database)
        self.accounts = accounts
    }

    /// Begins to share, and waits for a while until the cluster's data are here. Until then, accounts are not served.
    package func begin() {
        let isHere = Semaphore()
        documents.begin { [weak accounts, sharedAccounts] in
            // Tokens are signed with the keys that all nodes have.
            accounts?.begin(sharedAccounts)
            isHere.signal()
        }
        let deadline = MonotonicTime.current + Self.patience
        guard isHere.wait(atMost: Self.patience), let accounts else { return }
        accounts.whenComplete { isHere.signal() }
        _ = isHere.wait(atMost: deadline - .current)
    }

    /// The cluster's database has more commits.
    package func arrived() {
        documents.arrived()
        accounts?.arrived()
    }

    /// To be called about once a second.
    package func look() { documents.look() }

    /// Work that waits for other nodes is given up.
    package func beginToStop() {
        documents.beginToStop()
        accounts?.endSharing()
    }

    package func stop() { documents.stop() }
}

/// Gives access to the data shared with other nodes, which is created after the parts that need it.
package final class SharingSlot: Sendable {
    private let slot = Mutex<Sharing?>(nil)

    package init() {}

    package var value: Sharing? {
        get { slot.withLock { $0 } }
        set { slot.withLock { $0 = newValue } }
    }
}
