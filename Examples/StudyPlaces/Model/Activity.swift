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

    /// Nil for what is no activity.
    init?(_ snapshot: DataSnapshot) {
        guard let id = snapshot.key, let activity = Activity(id, snapshot.value) else { return nil }
        self = activity
    }

    init?(_ id: String, _ value: DatabaseValue) {
        guard let location = value["location"].string, let start = value["start"].int else { return nil }
        (self.id, self.location, self.start) = (id, location, start)
        duration = value["duration"].int
    }

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
