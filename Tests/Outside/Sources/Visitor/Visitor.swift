import HearthClient

struct Room: Codable, Equatable {
    var title: String
    var seats: Int
}

struct Full: Error {}

/// Uses a database as an app does: models, lists, a transaction, sign-in.
///
///     Visitor URL
@main
struct Visitor {
    static func main() async throws {
        let url = CommandLine.arguments[1]
        let auth = try Auth(url: url)
        let user = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        let database = try Database(url: url, options: DatabaseOptions(auth: auth))
        let rooms = database.reference(withPath: "rooms")
        try await rooms.removeValue()

        let kitchen = rooms.child("kitchen")
        try await kitchen.setValue(Room(title: "Kitchen", seats: 1))
        try await rooms.child("hall").setValue(["title": "Hall", "seats": 40, "at": ServerValue.timestamp()])
        for try await list in rooms.queryOrdered(byChild: "seats").children(as: Room.self) {
            print("rooms: \(list.map { "\($0.id) \($0.value.seats)" }.joined(separator: ", "))")
            break
        }
        for _ in 1...2 {
            do {
                try await kitchen.child("seats").transaction(of: Int.self) { seats in
                    guard let left = seats, left > 0 else { throw Full() }
                    seats = left - 1
                }
                print("a seat")
            } catch is Full {
                print("full")
            }
        }
        print("kitchen: \(try await kitchen.getData().data(as: Room.self).seats)")
        print("user: \(user.email ?? "")")
        await database.close()
    }
}
