import ExampleKit
import HearthClient

/// Somebody's stay at a place.
struct Activity: Identifiable, Hashable {
    let id: String
    /// The key of the place.
    let location: String
    /// Milliseconds since 1970.
    let start: Int
    /// Milliseconds; nil until the end.
    let duration: Int?

    /// Nil for what is no activity. Others may have written it: its times are those that can be.
    init?(_ snapshot: DataSnapshot) {
        guard let id = snapshot.key, let activity = Activity(id, snapshot.value) else { return nil }
        self = activity
    }

    init?(_ id: String, _ value: DatabaseValue) {
        let duration = value["duration"].int
        guard let location = value["location"].string, let start = value["start"].int, Self.times.contains(start),
            Self.times.contains(duration ?? 0)
        else { return nil }
        (self.id, self.location, self.start, self.duration) = (id, location, start, duration)
    }

    /// Up to the year 4147, so that their sums are numbers.
    private static let times = 0...1 << 46

    /// Whether the user is there.
    var isOpen: Bool { duration == nil }

    var started: Moment { Moment(milliseconds: start) }

    var ended: Moment? { duration.map { Moment(milliseconds: start + $0) } }

    /// As in `1 h 30 min`.
    var length: String? {
        guard let minutes = duration.map({ $0 / 60_000 }) else { return nil }
        return minutes < 60 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }
}
