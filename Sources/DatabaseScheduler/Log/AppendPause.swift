/// How long the thread that appends to a log of several machines pauses after an append.
///
/// An append costs the members of the store, and all nodes, as much as many small writes in it. Of the clients that are
/// answered at once, the first ones send new writes long before the others do, and without a pause these would make a
/// small append of their own. Where few writes are under way there is no pause, as a client may wait for each.
package enum AppendPause {
    static let operationsMin = 128
    static let pauseMax = Duration.milliseconds(5)

    /// - parameters:
    ///   - operations: that the append had.
    ///   - took: its time.
    package static func after(_ operations: Int, took: Duration) -> Duration {
        operations < operationsMin ? .zero : min(took / 4, pauseMax)
    }
}
