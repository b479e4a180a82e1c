package import HearthClusterNode
package import HearthServerLog

extension Readiness {
    /// Tells operators, and `/readyz`, of the cluster.
    package func take(_ news: ClusterNews, _ log: Log) {
        switch news {
        case .leaseBegan:
            lease(true)
            log.info("cluster.joined")
        case .leaseEnded:
            lease(false)
            log.error("cluster.lease-ended", [("meaning", "this node takes no writes until etcd answers again")])
        case .nameTaken(let address):
            nameTaken(address: address)
            log.error("cluster.name-taken", [("meaning", "a node at \(address) has the same --node name")])
        case .cannotFollow(let database, let reason):
            self.database(database, .cannotFollow(reason))
            log.error("cluster.cannot-follow", [("database", database), ("reason", reason)])
        case .follows(let database):
            if follows(database) { log.info("cluster.follows-again", [("database", database)]) }
        case .peerRefused(let node, let reason):
            log.error("cluster.peer-refused", [("node", node), ("reason", reason)])
        case .cutOff(true):
            cutOff(true)
            log.error("cluster.cut-off", [("meaning", "other nodes do not reach this one, so it takes no writes")])
        case .cutOff(false):
            cutOff(false)
            log.info("cluster.reached-again")
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
