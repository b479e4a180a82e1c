import Synchronization
import HearthPlatform

extension Database {
    /// The estimated server time, in milliseconds since 1970. Before the first connection, the time of this machine's
    /// clock.
    public var serverTime: Int64 { WallClock.milliseconds &+ core.sharedClockOffset.load(ordering: .relaxed) }
}
