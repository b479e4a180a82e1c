import Synchronization
import HearthPlatform

extension Database {
    /// The server's time in milliseconds since 1970, as far as it is known here: this machine's clock until the first
    /// connection.
    public var serverTime: Int64 { WallClock.milliseconds &+ core.sharedClockOffset.load(ordering: .relaxed) }
}
