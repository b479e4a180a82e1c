/// The listeners of one path on all connections. Numbers are never used again within a process.
package struct GroupID: Hashable, Sendable {
    package let raw: UInt64
}

/// A group, and the event loops on which it has members, one bit each.
package struct GroupAddress: Hashable, Sendable {
    package var group: GroupID
    package var loops: UInt64
}
