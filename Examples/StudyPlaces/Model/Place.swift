import HearthClient

/// Somewhere to study.
struct Place: Identifiable, Hashable {
    let id: String
    let name: String
    let address: String
    /// Degrees north.
    let latitude: Double
    /// Degrees east.
    let longitude: Double
    /// As people write them.
    let hours: String
    let needsStudentCard: Bool
    let totalSeats: Int
    let availableSeats: Int

    /// Nil for what is no place.
    init?(_ snapshot: DataSnapshot) {
        let value = snapshot.value
        guard let id = snapshot.key, let name = value["name"].string, let address = value["address"].string,
            let latitude = value["latitude"].double, let longitude = value["longitude"].double,
            let hours = value["hours"].string, let needsStudentCard = value["needsStudentCard"].bool,
            let totalSeats = value["seats"]["total"].int, let availableSeats = value["seats"]["available"].int
        else { return nil }
        (self.id, self.name, self.address, self.hours) = (id, name, address, hours)
        (self.latitude, self.longitude) = (latitude, longitude)
        (self.totalSeats, self.availableSeats) = (totalSeats, availableSeats)
        self.needsStudentCard = needsStudentCard
    }

    var isFull: Bool { availableSeats == 0 }

    /// As in `3 of 10`: the seats that are free.
    var seats: String { "\(availableSeats) of \(totalSeats)" }
}
