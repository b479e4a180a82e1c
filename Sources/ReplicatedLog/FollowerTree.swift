/// From whom a node that holds a database gets its records. Each node decides that for itself, from the list of the
/// nodes that hold the database (``Placement``), which is the same at all of them.
///
/// ```
/// the store ─┬─ 0 ─┬─ 3 … 18
///            ├─ 1 ─┼─ 19 … 34
///            └─ 2 ─┴─ 35 … 50        3 ── 51 … 66  and so on
/// ```
/// The number of a source is always lower than that of its follower, so there are no circles, also while nodes have
/// different opinions of who runs. A node that stops running moves only its own followers. If one is removed from the
/// list, those after it move up by one: if it has no followers, at most one in `branches` of them, rounded up, gets
/// another source; otherwise, all may. A change of source costs a message, and no records are missed.
package struct FollowerTree: Hashable, Sendable {
    /// So many nodes follow the store: those that may own the log.
    package var roots = 3
    /// So many nodes follow one node.
    package var branches = 16

    package init() {}

    /// The number of the node that another one follows; nil for the store.
    ///
    /// - parameter isRunning: if the source of a node does not run, the node follows the source of that one.
    package func source(of index: Int, isRunning: (Int) -> Bool) -> Int? {
        var index = index
        while index >= roots {
            index = (index - roots) / branches
            if isRunning(index) { return index }
        }
        return nil
    }
}
