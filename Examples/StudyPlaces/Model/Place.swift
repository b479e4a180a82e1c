/// Somewhere to study, as it is in the database.
struct Place: Codable, Hashable {
    struct Seats: Codable, Hashable {
        let total: Int
        let available: Int
    }

    let name: String
    let address: String
    /// Degrees north.
    let latitude: Double
    /// Degrees east.
    let longitude: Double
    /// As people write them.
    let hours: String
    let needsStudentCard: Bool
    let seats: Seats

    var isFull: Bool { seats.available == 0 }

    /// As in `3 of 10`: the seats that are free.
    var freeSeats: String { "\(seats.available) of \(seats.total)" }
}
