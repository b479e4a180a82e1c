import HearthClusterNode

/// The databases of a node of a cluster, by what it has to do with them.
package struct PlacementFigures: Hashable, Sendable {
    /// Whether the node has its lease, by name of the etcd cluster.
    package var leases: [String: Bool] = [:]
    /// The members among which databases are distributed; none if every node holds everything.
    package var members = 0
    /// Those that drain.
    package var draining = 0
    /// Databases that are open, and that the node holds.
    package var held = 0
    /// Those that are open only because clients use them here.
    package var visited = 0
    /// Those that are open because other nodes may need the files: the node holds them no more.
    package var leaving = 0
    /// Those that are not here yet.
    package var copying = 0
    /// Requests that wait for databases to come or to be gone.
    package var waitingRequests = 0
    /// Databases whose files were removed since the start.
    package var removed = 0
}

extension HostedDatabases {
    /// Nil without a cluster. O(open databases).
    package var placementFigures: PlacementFigures? {
        guard let cluster = host.cluster else { return nil }
        var figures = PlacementFigures()
        (figures.members, figures.draining) = cluster.memberCounts
        figures.leases = cluster.leases
        for (index, database) in open where !placed.isArriving(index) {
            if cluster.holds(database.name) {
                figures.held += 1
            } else if placed.visited.contains(index) {
                figures.visited += 1
            } else {
                figures.leaving += 1
            }
        }
        figures.copying = Set(copied.keys).union(open.keys.filter(placed.isArriving)).count
        figures.waitingRequests = placed.waitingCount
        figures.removed = placed.removedCount
        return figures
    }
}
