import HearthClient

/// Something to do.
struct Entry: Codable, Hashable {
    /// As in `2026-03-01`.
    let date: String
    /// As in `18:30`.
    let time: String
    let text: String
    let done: Bool
}

extension Entry {
    /// Open entries come before done ones, then earlier ones before later ones.
    static func isBefore(_ a: DatabaseChild<Entry>, _ b: DatabaseChild<Entry>) -> Bool {
        if a.done != b.done { return b.done }
        return (a.date, a.time, a.id) < (b.date, b.time, b.id)
    }
}
