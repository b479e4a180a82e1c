import HearthClient
import HearthTesting
import Testing

/// Tests of an app, with a server in their own process.
@Test func seatsAreCounted() async throws {
    let server = try TestServer()
    let database = try Database(url: server.url)
    let room = database.reference(withPath: "rooms/kitchen")
    try await room.setValue(["seats": 4])
    try await room.child("seats").setValue(ServerValue.increment(-1))
    #expect(try await room.child("seats").getData().int == 3)
}
