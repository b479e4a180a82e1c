package import HearthRealtimeDatabase

/// The circumstances of an event.
package struct Conditions: Sendable {
    /// The clock of the machine, in milliseconds since 1970.
    package var wall: Int64
    /// A monotonic clock, in milliseconds.
    package var uptime: Int64
    /// The event loops have not delivered enough of the outputs: ``Event/delivered`` will follow.
    package var isBacklogFull: Bool
    /// The same of the links to other nodes.
    package var fullLinks: LinkSet
    /// As the owner of a log that several nodes append to: no other node can own it at this moment.
    package var isOwnershipCertain: Bool

    package init(
        wall: Int64, uptime: Int64, isBacklogFull: Bool = false, fullLinks: LinkSet = LinkSet(),
        isOwnershipCertain: Bool = true
    ) {
        self.wall = wall
        self.uptime = uptime
        self.isBacklogFull = isBacklogFull
        self.fullLinks = fullLinks
        self.isOwnershipCertain = isOwnershipCertain
    }
}
