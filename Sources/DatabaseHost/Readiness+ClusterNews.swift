package import HearthClusterNode
package import HearthServerLog
import HearthStorageErrors

extension Readiness {
    /// Tells operators, and `/readyz`, of the cluster.
    package func take(_ news: ClusterNews, _ log: Log) {
        switch news {
        case .leaseBegan(let store, let isHome):
            // A node that lacks another one serves all the databases that are not there.
            if isHome { lease(true) }
            log.info("cluster.joined", [("etcd", store)])
        case .leaseEnded(let store, let isHome):
            if isHome { lease(false) }
            log.error(
                "cluster.lease-ended",
                [
                    ("etcd", store),
                    ("meaning", "this node takes no writes of databases whose logs are there until it answers again"),
                ])
        case .otherStore(let expected, let found):
            log.error(
                "cluster.wrong-etcd",
                [
                    ("expected", expected), ("found", found),
                    (
                        "meaning",
                        "this node does not use the etcd cluster: the names or addresses of --cluster are mixed up"
                    ),
                ])
        case .mixedMembers(let reason?, let store, let isHome):
            if isHome { mixedMembers(reason) }
            log.error("cluster.mixed-etcd", [("etcd", store), ("reason", reason)])
        case .mixedMembers(nil, let store, let isHome):
            if isHome { mixedMembers(nil) }
            log.info("cluster.one-etcd", [("etcd", store)])
        case .member(let member, let problem?, let store):
            log.warning("cluster.etcd-member-fails", [("etcd", store), ("member", member), ("reason", problem)])
        case .member(let member, nil, let store):
            log.info("cluster.etcd-member-answers", [("etcd", store), ("member", member)])
        case .full(true, let store, let isHome):
            if isHome { homeFull(true) }
            log.error("cluster.etcd-full", [("etcd", store), ("meaning", StorageError.etcdFull.message)])
        case .full(false, let store, let isHome):
            if isHome { homeFull(false) }
            log.info("cluster.etcd-has-room", [("etcd", store)])
        case .notCompacted(let store, let reason):
            log.error("cluster.not-compacted", [("etcd", store), ("reason", reason)])
        case .nameTaken(let address, let store, let isHome):
            if isHome { nameTaken(address: address) }
            log.error(
                "cluster.name-taken", [("etcd", store), ("meaning", "a node at \(address) has the same --node name")])
        case .cannotFollow(let database, let reason):
            self.database(database, .cannotFollow(reason))
            log.error("cluster.cannot-follow", [("database", database), ("reason", reason)])
        case .follows(let database):
            if follows(database) { log.info("cluster.follows-again", [("database", database)]) }
        case .peerRefused(let node, let reason):
            log.error("cluster.peer-refused", [("node", node), ("reason", reason)])
        case .callerRefused(let address):
            log.error(
                "cluster.caller-refused",
                [("address", address), ("meaning", "a caller of --peer-listen has another --cluster-secret, or none")])
        case .cutOff(true, let store):
            cutOff(true, in: store)
            log.error(
                "cluster.cut-off",
                [("etcd", store), ("meaning", "other nodes do not reach this one, so it takes no writes")])
        case .cutOff(false, let store):
            cutOff(false, in: store)
            log.info("cluster.reached-again", [("etcd", store)])
        case .members(let names?): log.info("cluster.members", [("nodes", names.joined(separator: ","))])
        case .members(nil):
            log.error(
                "cluster.members-missing",
                [("meaning", "etcd does not have the members, or they cannot be read: this node removes no files")])
        case .membersNotKept(let reason): log.error("cluster.members-not-kept", [("reason", reason)])
        case .movesHome(let database, let node):
            log.info("database.moving-home", [("database", database), ("node", node)])
        }
    }
}
