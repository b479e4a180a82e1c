package import HearthReplicatedLog

/// How long nodes wait before databases move between them.
package struct PlacementTiming: Hashable, Sendable {
    package var members = MembersKeeper.Options()
    /// A node has run for so long before it removes files, and before logs are moved to it.
    package var settleMilliseconds = OwnerHome.runMillisecondsDefault
    /// A node follows a database that it does not hold for so long after the last use.
    package var idleMilliseconds: Int64 = 3_600_000
    /// Between two looks at what is to be done.
    package var lookMilliseconds: Int64 = 1000

    package init() {}
}
