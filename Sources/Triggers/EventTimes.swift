import HearthJSONTree

/// Since when the events of one trigger are due, by a clock that nobody sets.
///
/// The time that is stored with an event is a time of day. It is used for events from before the start of the feed.
/// Later events are due from their arrival, even if the time of day was set in between.
struct EventTimes {
    /// When the feed began, by both clocks.
    private let (wall, uptime): (Int64, Int64)
    /// When events came that are to be read from the tree file: the first of each minute.
    private var marks: [(sequence: UInt64, uptime: Int64)] = []

    private static let markEvery: Int64 = 60_000

    init(wall: Int64, uptime: Int64) { (self.wall, self.uptime) = (wall, uptime) }

    /// An event came, and is to be read later. `sequence` is that of its key.
    mutating func note(_ sequence: UInt64, at uptime: Int64) {
        if let last = marks.last, uptime - last.uptime < Self.markEvery { return }
        marks.append((sequence, uptime))
    }

    /// Since when an event is due that was read.
    ///
    /// - parameter since: milliseconds since 1970, as they are stored. If they are still to come, the clock was ahead.
    func due(_ sequence: UInt64, since: Int64) -> Int64 {
        let later = marks.partitioningIndex { $0.sequence > sequence }
        return later > 0 ? marks[later - 1].uptime : uptime - max(0, wall - since)
    }

    /// All events up to this one were read.
    mutating func forget(through sequence: UInt64) {
        let later = marks.partitioningIndex { $0.sequence > sequence }
        // The last of these may be that of further events.
        if later > 1 { marks.removeFirst(later - 1) }
    }

    /// All events are in memory.
    mutating func forgetAll() { marks = [] }
}
