import HearthClient
import HearthClientSession
import HearthConnection
import HearthEventLoop
import HearthServer
import HearthTestSupport
import HearthTriggers
import Synchronization
import Testing

@testable import HearthAdmin

@Suite("Triggers for an administrator in Swift", .timeLimit(.minutes(15)))
struct TriggerTests {
    /// Events may go to this machine.
    private static func server() throws -> AdminServer {
        let networks = try #require(NetworkList("127.0.0.1"))
        return try AdminServer { $0.triggers.networks = networks }
    }

    private static func settings(_ trigger: String) -> String {
        #"{"settings":{"rooms":{"$room":{".trigger":\#(trigger)}}}}"#
    }

    @Test("are listed with their state, and events that were set aside are sent again or dropped")
    func events() async throws {
        let isBroken = Mutex(true)
        let receiver = try EventReceiver { _ in isBroken.withLock { $0 } ? 500 : 200 }
        let server = try Self.server()
        let admin = try server.administrator()
        #expect(try await admin.triggers(ofDatabase: "shop") == [])
        #expect(try await admin.setAsideEvents(ofDatabase: "shop") == [])
        try await admin.setSettings(
            Self.settings(#"{"name":"t","on":"created","url":"\#(receiver.url)","retry":"0s"}"#), ofDatabase: "shop")
        let database = try admin.database(url: "\(server.adminURL)/?ns=shop")
        let unused = try #require(try await admin.triggers(ofDatabase: "shop").first)
        #expect(unused.name == "t")
        #expect(unused.setAside == 0)
        #expect(try await admin.replayEvents(ofTrigger: "t", ofDatabase: "shop") == 0)
        for room in ["a", "b", "c"] { try await database.reference(withPath: "rooms/\(room)").setValue(1) }
        try await eventually("three events that are set aside") {
            try await admin.setAsideEvents(ofDatabase: "shop").count == 3
        }

        let trigger = try #require(try await admin.triggers(ofDatabase: "shop").first)
        #expect(trigger.name == "t")
        #expect(trigger.kind == "created")
        #expect(trigger.path == "/rooms/$")
        #expect(trigger.target == receiver.url)
        #expect(trigger.waiting == 0)
        #expect(trigger.underWay == 0)
        #expect(trigger.setAside == 3)
        #expect(trigger.delivered == 0)
        #expect(trigger.failures == 3)
        #expect(trigger.lastFailure == "HTTP status 500")
        #expect(try await admin.triggers() == [])

        let events = try await admin.setAsideEvents(ofTrigger: "t", ofDatabase: "shop")
        #expect(Set(events.map(\.path)) == ["/rooms/a", "/rooms/b", "/rooms/c"])
        #expect(events.allSatisfy { $0.trigger == "t" && $0.kind == "created" && $0.failure == "HTTP status 500" })
        #expect(events.allSatisfy { $0.isReplayable && $0.time > 0 })
        #expect(try await admin.setAsideEvents(limit: 2, ofDatabase: "shop").count == 2)
        #expect(try await admin.setAsideEvents(ofTrigger: "other", ofDatabase: "shop") == [])

        let dropped = try #require(events.first { $0.path == "/rooms/b" })
        #expect(try await admin.dropEvents(ofTrigger: "t", id: dropped.id, ofDatabase: "shop") == 1)
        #expect(try await admin.dropEvents(ofTrigger: "t", id: dropped.id, ofDatabase: "shop") == 0)
        isBroken.withLock { $0 = false }
        let sent = receiver.posts.count
        let one = try #require(events.first { $0.path == "/rooms/a" })
        #expect(try await admin.replayEvents(ofTrigger: "t", id: one.id, ofDatabase: "shop") == 1)
        try await eventually("the event") { receiver.posts.count == sent + 1 }
        #expect(receiver.posts.last?.id == one.id)
        #expect(try await admin.replayEvents(ofTrigger: "t", ofDatabase: "shop") == 1)
        try await eventually("the other event") { receiver.posts.count == sent + 2 }
        try await eventually("both delivered") {
            try await admin.triggers(ofDatabase: "shop").first?.delivered == 2
        }
        #expect(try await admin.setAsideEvents(ofDatabase: "shop") == [])
        #expect(try await admin.dropEvents(ofTrigger: "t", ofDatabase: "shop") == 0)
        await database.close()
    }

    @Test("need an administrator, a name and a trigger: each error says which")
    func failures() async throws {
        let server = try Self.server()
        let admin = try server.administrator()
        func failure(_ work: () async throws -> Void) async -> AdminError? {
            await #expect(throws: AdminError.self) { try await work() }
        }
        let name = await failure { _ = try await admin.setAsideEvents(ofTrigger: "a/b") }
        #expect(name?.code == .invalidArgument)
        #expect(name?.message.hasPrefix("the name of a trigger has 1 to 64 letters") == true)
        try await admin.setSettings(Self.settings(#"{"name":"t","on":"written","url":"http://127.0.0.1:1/"}"#))
        #expect(try await admin.triggers().map(\.name) == ["t"])
        for work in [admin.replayEvents(ofTrigger:id:ofDatabase:), admin.dropEvents(ofTrigger:id:ofDatabase:)] {
            let unknown = await failure { _ = try await work("nope", nil, nil) }
            #expect(unknown?.code == .other)
            #expect(unknown?.message == "there is no trigger 'nope'")
        }

        let token = try await admin.requests.token()
        let atPublic = try Administrator(
            DatabaseURL(server.url), .token(token), options: AdminOptions(), connection: ConnectionOptions())
        #expect(await failure { _ = try await atPublic.triggers() }?.code == .notForAdministrators)
        let withoutKey = try Administrator(developmentURL: server.adminURL)
        let unauthenticated = await failure { _ = try await withoutKey.triggers() }
        #expect(unauthenticated?.code == .unauthenticated)
        #expect(unauthenticated?.message.hasSuffix("wants a credential") == true)
        let nobody = try Administrator(developmentURL: "http://127.0.0.1:1")
        #expect(await failure { _ = try await nobody.triggers() }?.code == .unavailable)
        try server.removeKeys()
        let ended = await failure { _ = try await admin.triggers() }
        #expect(ended?.code == .unauthenticated, "\(String(describing: ended))")
    }
}
