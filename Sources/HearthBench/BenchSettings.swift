/// The settings of the benchmarks.
package struct BenchSettings: Sendable {
    /// Each comparison is repeated so often, floor and server in turn, and medians count.
    package var rounds = 3
    /// How long each run is measured.
    package var seconds = 10.0
    /// One JSON object per result instead of text.
    package var printsJSON = false
    /// A server that runs already, `ws://HOST:PORT`; nil to start one for each run.
    package var url: String?
    /// Its process on this machine, so that its CPU time and memory can be seen.
    package var process: Int32?
    /// Where data folders are made, and removed again.
    package var folder = "/var/tmp"
    package var durability = "full"
    package var connections = 64
    package var inFlight = 16
    /// Numbers of listeners to measure.
    package var listeners = [1_000, 10_000]
    package var idleConnections = 10_000
    package var leaves = 10_000_000
    package var children = 1_000_000
    /// The server and the floors run on the first CPU, the generator on the second; nil to leave that to the system.
    package var cpus: (target: Int, load: Int)? = (0, 1)
    /// A data folder that `start` fills once and then keeps; nil for one that is removed.
    package var keptFolder: String?

    /// Redis is measured as well, by `write` and `read`.
    package var isBesideRedis = false

    package init() {}

    /// Before each measurement.
    var warmUp: Double { min(2, seconds / 5) }
}
