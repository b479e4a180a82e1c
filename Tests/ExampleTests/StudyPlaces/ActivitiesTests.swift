import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Testing

@testable import HearthStudyPlaces

@Suite("Stays at places to study", .timeLimit(.minutes(15)))
@MainActor
struct ActivitiesTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("StudyPlaces", rules: "study-places") }

    @Test("begin with a seat and a time, and end with a duration and a free seat")
    func stay() async throws {
        var time = Students.morning
        let account = try Account(url: server.url)
        try await account.signInForDemo(.facebook, name: "Ann", email: "ann@example.com")
        let ann = Session(account.database, of: try account.needPerson()) { time }
        let place = try #require(try await ann.known("cafe-isar"))
        try await ann.activities.checkIn(at: place)
        try await ann.activities.live.load()
        let open = try #require(ann.activities.current)
        #expect(open.location == "cafe-isar")
        #expect(open.start == time)
        #expect(open.length == nil)
        #expect(open.ended == nil)
        #expect(try await ann.known("cafe-isar")?.seats.available == 13)
        time += 90 * Students.minute
        try await ann.activities.checkOut()
        try await ann.activities.live.load()
        #expect(ann.activities.activities.map(\.id) == [open.id])
        #expect(ann.activities.current == nil)
        #expect(ann.activities.activities[0].duration == 90 * Students.minute)
        #expect(ann.activities.activities[0].length == "1 h 30 min")
        #expect(try await ann.known("cafe-isar")?.seats.available == 14)
        await #expect(throws: Problem("You are not checked in.")) { try await ann.activities.checkOut() }
        #expect(try await ann.known("cafe-isar")?.seats.available == 14)
    }

    @Test("are not where there is no seat, nor at two places")
    func refused() async throws {
        let place = try #require(try await server.student("Ann").known("studio-schwabing"))
        for name in ["Ann", "Bob"] { try await server.student(name).activities.checkIn(at: place) }
        let cem = try await server.student("Cem")
        await #expect(throws: Problem("Studio Schwabing is full.")) { try await cem.activities.checkIn(at: place) }
        try await cem.activities.live.load()
        #expect(cem.activities.activities.isEmpty)
        let ann = try await server.student("Ann")
        let other = try #require(try await ann.known("cafe-isar"))
        await #expect(throws: Problem("You are checked in already; check out first.")) {
            try await ann.activities.checkIn(at: other)
        }
        #expect(try await ann.known("cafe-isar")?.seats.available == 14)
        #expect(try await ann.known("studio-schwabing")?.seats.available == 0)
    }

    @Test("are one, whichever of a user's terminals were used at once")
    func twoTerminals() async throws {
        let terminals = [
            try await server.student("Ann"), try await server.student("Ann", at: Students.morning + Students.minute),
        ]
        let place = try #require(try await terminals[0].known("cafe-isar"))
        try await server.student("Bob").activities.checkIn(at: place)
        let arrivals = terminals.map { session in Task { try await session.activities.checkIn(at: place) } }
        var refused = 0
        for arrival in arrivals {
            do { try await arrival.value } catch is Problem { refused += 1 }
        }
        #expect(refused == 1)
        #expect(try await terminals[0].known("cafe-isar")?.seats.available == 12)
        for session in terminals {
            try await session.activities.live.load()
            #expect(session.activities.activities.count == 1)
        }
        let departures = terminals.map { session in Task { try await session.activities.checkOut() } }
        for departure in departures { try await departure.value }
        #expect(try await terminals[0].known("cafe-isar")?.seats.available == 13)
        try await terminals[0].activities.live.load()
        #expect(terminals[0].activities.activities.count == 1)
        #expect(terminals[0].activities.current == nil)
    }

    @Test("of a hundred who come and go at once: never more than there are seats, and none is lost")
    func hundred() async throws {
        var sessions: [Session] = []
        for number in 0..<100 { sessions.append(try await server.student("S\(number)")) }
        let place = try #require(try await sessions[0].known("city-library"))
        let guardian = try await server.student("Guardian")
        var seen: [Int] = []
        let watch: @MainActor () async throws -> Void = {
            try await guardian.places.follow { if $0.id == place.id { seen.append($0.seats.available) } }
        }
        try await alongside(watch) {
            let arrivals = sessions.map { session in Task { try await session.activities.checkIn(at: place) } }
            var refused = 0
            for arrival in arrivals {
                do { try await arrival.value } catch is Problem { refused += 1 }
            }
            #expect(refused == 100 - place.seats.total)
            await until { guardian.places.place(place.id)?.seats.available == 0 }
            for session in sessions { try await session.activities.live.load() }
            #expect(sessions.count { $0.activities.current != nil } == place.seats.total)
            let departures = sessions.map { session in Task { try await session.activities.checkOut() } }
            refused = 0
            for departure in departures {
                do { try await departure.value } catch is Problem { refused += 1 }
            }
            #expect(refused == 100 - place.seats.total)
            await until { guardian.places.place(place.id)?.seats.available == place.seats.total }
        }
        #expect(seen.allSatisfy { (0...place.seats.total).contains($0) })
        #expect(seen.contains(0))
    }

    @Test("are not lost with the connection on which the answer was to come, and nobody has to wait for it")
    func lostAnswers() async throws {
        let relay = try Relay(to: server.port)
        let account = try Account(url: relay.url)
        try await account.signInForDemo(.campus, name: "Ann", email: "ann@example.com")
        var deafens = false
        let ann = Session(account.database, of: try account.needPerson()) {
            // Asked for before an activity is entered, and before its end is.
            if deafens { relay.deafen() }
            return Students.morning
        }
        let guardian = try await server.student("Ann")
        let place = try #require(try await ann.known("cafe-isar"))
        try await alongside({ try await ann.activities.live.follow() }) {
            try await alongside({ try await guardian.activities.live.follow() }) {
                // Followed data need not be read before it is changed.
                try await ann.activities.checkIn(at: place)
                await until { ann.activities.current != nil }
                try await ann.activities.checkOut()
                await until { guardian.activities.activities.count == 1 && guardian.activities.current == nil }
                await until { ann.activities.current == nil }

                deafens = true
                let arrival = Task { try await ann.activities.checkIn(at: place) }
                await until { guardian.activities.current != nil }
                relay.cut()
                try await arrival.value
                #expect(try await guardian.known("cafe-isar")?.seats.available == 13)
                await until { ann.activities.current != nil }

                let departure = Task { try await ann.activities.checkOut() }
                await until { guardian.activities.current == nil }
                departure.cancel()
                let problem = await #expect(throws: Problem.self) { try await departure.value }
                #expect(problem?.description.hasPrefix("There is no answer yet; ") == true)
                relay.cut()
                #expect(guardian.activities.activities.count == 2)
                try await alongside({ try await guardian.places.live.follow() }) {
                    await until { guardian.places.place("cafe-isar")?.seats.available == 14 }
                }
            }
        }
    }

    @Test("do not begin when there is no connection and nobody wants to wait for one")
    func offline() async throws {
        let account = try Account(url: server.url)
        try await account.signInForDemo(.campus, name: "Ann", email: "ann@example.com")
        let ann = Session(account.database, of: try account.needPerson()) { Students.morning }
        let place = try #require(try await ann.known("cafe-isar"))
        account.database.goOffline()
        let arrival = Task { try await ann.activities.checkIn(at: place) }
        arrival.cancel()
        await #expect(throws: CancellationError.self) { try await arrival.value }
        account.database.goOnline()
        try await ann.activities.live.load()
        #expect(ann.activities.activities.isEmpty)
        #expect(try await ann.known("cafe-isar")?.seats.available == 14)
    }

    @Test(
        "have times that can be, whatever others have written",
        arguments: [
            (0, nil, true), (5, 7, true), (-1, nil, false), (5, -1, false), (.max, nil, false), (5, .max, false),
            (.max, .max, false), (.min, 1, false),
        ] as [(Int64, Int64?, Bool)])
    func times(start: Int64, duration: Int64?, isOne: Bool) {
        let value: DatabaseValue = [
            "location": "x", "start": .int(start), "duration": duration.map { .int($0) } ?? nil,
        ]
        let activity = try? value.decoded(as: Activity.self)
        #expect((activity != nil) == isOne)
        #expect((activity?.ended != nil) == (isOne && duration != nil))
    }

    @Test("are listed live from the newest to the oldest, and deleted when they are over")
    func list() async throws {
        let desk = try await server.student("Ann")
        let phone = try await server.student("Ann", at: Students.morning + Students.minute)
        let place = try #require(try await desk.known("cafe-isar"))
        try await alongside({ try await desk.activities.live.follow() }) {
            try await alongside({ try await phone.activities.live.follow() }) {
                try await desk.activities.checkIn(at: place)
                await until { phone.activities.current != nil }
                try await phone.activities.checkOut()
                await until { desk.activities.activities.first?.length == "1 min" }
                try await phone.activities.checkIn(at: place)
                await until { desk.activities.activities.count == 2 }
                #expect(desk.activities.activities.map(\.isOpen) == [true, false])
                let (open, over) = (desk.activities.activities[0], desk.activities.activities[1])
                await #expect(throws: Problem("You are still there; check out first.")) {
                    try await desk.activities.delete(open)
                }
                try await desk.activities.delete(over)
                await until { phone.activities.activities == [open] }
            }
        }
    }
}
