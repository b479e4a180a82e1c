import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Testing

@testable import HearthStudyPlaces

@Suite("Places to study", .timeLimit(.minutes(15)))
@MainActor
struct PlacesTests {
    @Test("are entered once, by the first user, even if several come at once")
    func seed() async throws {
        let server = try ExampleServer("StudyPlaces", rules: "study-places", isSeeded: false)
        var sessions: [Session] = []
        for name in ["Ann", "Bob", "Cem", "Dora"] { sessions.append(try await server.student(name)) }
        try await sessions[0].places.live.load()
        #expect(sessions[0].places.places.isEmpty)
        let seeders = sessions.map { session in Task { try await session.places.seed() } }
        var didSeed = 0
        for seeder in seeders where try await seeder.value { didSeed += 1 }
        #expect(didSeed == 1)
        let place = try #require(try await sessions[0].known("studio-schwabing"))
        #expect(sessions[0].places.places.count == 8)
        try await sessions[0].activities.checkIn(at: place)
        #expect(try await sessions[1].places.seed() == false)
        #expect(try await sessions[1].known("studio-schwabing")?.seats.available == 1)
    }

    @Test("have name, address, coordinates, opening hours, seats, and may need a student card")
    func details() async throws {
        let server = try ExampleServer("StudyPlaces", rules: "study-places")
        let session = try await server.student("Ann")
        try await session.places.live.load()
        let places = session.places.places
        #expect(places.map(\.name).first == "Café Isar")
        #expect(places == places.sorted { $0.name < $1.name })
        let place = try #require(session.places.place("university-library"))
        #expect(place.name == "University Library")
        #expect(place.address == "Geschwister-Scholl-Platz 1, 80539 München")
        #expect(place.latitude == 48.15079)
        #expect(place.longitude == 11.58112)
        #expect(place.hours == "Mon–Fri 8:00–22:00, Sat–Sun 9:00–18:00")
        #expect(place.needsStudentCard)
        #expect(place.seats.total == 120)
        #expect(place.seats.available == 120)
        #expect(session.places.place("city-library")?.needsStudentCard == false)
        #expect(session.places.place("moon") == nil)
    }

    @Test("tell of each seat that is taken or freed, wherever they are watched")
    func live() async throws {
        let server = try ExampleServer("StudyPlaces", rules: "study-places")
        let ann = try await server.student("Ann")
        let bob = try await server.student("Bob")
        var told: [Int] = []
        let watch: @MainActor () async throws -> Void = {
            try await bob.places.follow { place in
                if place.id == "cafe-isar" { told.append(place.seats.available) }
            }
        }
        try await alongside(watch) {
            await until { bob.places.places.count == 8 }
            try await ann.activities.checkIn(at: try #require(bob.places.place("cafe-isar")))
            await until { bob.places.place("cafe-isar")?.seats.available == 13 }
            try await ann.activities.live.load()
            try await ann.activities.checkOut()
            await until { bob.places.place("cafe-isar")?.seats.available == 14 }
            #expect(bob.places.places.map(\.name) == bob.places.places.map(\.name).sorted())
        }
        #expect(told == [14, 13, 14])
    }
}
