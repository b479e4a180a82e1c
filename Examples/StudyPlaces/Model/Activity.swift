import HearthClient

/// Somebody's stay at a place, as it is in the database.
struct Activity: Codable, Hashable {
    /// The key of the place.
    let location: String
    /// Milliseconds since 1970.
    let start: Int
    /// Milliseconds; nil until the end.
    let duration: Int?

    /// Whether the user is there.
    var isOpen: Bool { duration == nil }

    var started: DatabaseTimestamp { DatabaseTimestamp(milliseconds: Int64(start)) }

    var ended: DatabaseTimestamp? { duration.map { DatabaseTimestamp(milliseconds: Int64(start + $0)) } }

    /// As in `1 h 30 min`.
    var length: String? {
        guard let minutes = duration.map({ $0 / 60_000 }) else { return nil }
        return minutes < 60 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }
}

extension Activity {
    /// Others may have written it: its times are those that can be, up to the year 4147, so that they can be added.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        location = try values.decode(String.self, forKey: .location)
        start = try values.decode(Int.self, forKey: .start)
        duration = try values.decodeIfPresent(Int.self, forKey: .duration)
        guard (0...1 << 46).contains(start), (0...1 << 46).contains(duration ?? 0) else {
            throw DecodingError.dataCorruptedError(forKey: .start, in: values, debugDescription: "no time of a stay")
        }
    }
}
