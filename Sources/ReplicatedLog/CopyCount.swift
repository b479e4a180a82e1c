/// How many nodes hold a database: more for one with many connections, so that clients find a node that has it.
/// Its owner decides that.
package struct CopyCount: Hashable, Sendable {
    /// Nodes that may own the log: a majority of them may be lost for a while.
    package var minimum = 3
    /// A node is to have at most so many connections of one database.
    package var connectionsMax = 10_000

    package init() {}

    /// The number of copies that follows the present one. It grows at once. It shrinks when half of the copies would
    /// do, to a number that three quarters of the connections would fill: so a number of connections that goes up and
    /// down a little changes nothing.
    package func next(after copies: Int, connections: Int) -> Int {
        if connections > copies * connectionsMax { return (connections + connectionsMax - 1) / connectionsMax }
        guard copies > minimum, connections < copies * connectionsMax / 2 else { return max(copies, minimum) }
        let filled = connectionsMax * 3 / 4
        return max(minimum, (connections + filled - 1) / filled)
    }
}
