/// One load on some nodes.
struct ClusterRun {
    /// CPU seconds are those of all nodes.
    var measurement: Measurement
    /// CPU seconds of each node for a million operations.
    var cpuPerMillion: [Double]
    var owner = 0

    var ofOwner: Double { cpuPerMillion[owner] }
    /// The mean of the other nodes; nil without any.
    var ofFollowers: Double? {
        let others = cpuPerMillion.indices.filter { $0 != owner }.map { cpuPerMillion[$0] }
        return others.isEmpty ? nil : others.reduce(0, +) / Double(others.count)
    }
}

/// The results of one round of the benchmark of a cluster.
struct ClusterRound {
    static let nodesMax = 3

    var writesOfOne: [ClusterRun] = []
    var fanoutOfOne: [ClusterRun] = []
    /// With 1, 2 and 3 nodes.
    var writes: [ClusterRun] = []
    var followers = FollowerCost()
    var fanout: [ClusterRun] = []
    /// One in flight: etcd's own appends, and writes at the owner and at a follower.
    var single: (etcd: Measurement, owner: Measurement, follower: Measurement)?
    var move: (pauseSeconds: Double, refused: Int)?
    var deathSeconds = 0.0
    var storm: ReconnectStorm.Outcome?
}
