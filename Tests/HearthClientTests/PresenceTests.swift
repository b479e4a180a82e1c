import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing
import HearthConnection

@Suite("On-disconnect writes of connections", .timeLimit(.minutes(15)))
struct PresenceTests {
    @Test("is written when the connection ends, and not when it was cancelled")
    func ending() async throws {
        let database = try TestDatabase()
        let watcher = try await database.connect()
        var changes = try await watcher.listen(path("people")).makeAsyncIterator()
        #expect(try await changes.required() == .set("people", "null"))
        let connection = try await database.connect()
        try await connection.onDisconnect(set: place("people/a"), to: json("false"))
        try await connection.onDisconnect(set: place("people/b"), to: json("false"))
        try await connection.cancelOnDisconnect(path("people/b"))
        connection.close()
        #expect(try await changes.required() == .set("people/a", "false"))
    }

    @Test("is written after a restart if the server was killed, once")
    func kill() async throws {
        let folder = TemporaryFolder()
        let clients = try TestLoop()
        let server = try await ServerProcess(folder.path)
        var connections: [Connection] = []
        for name in ["a", "b", "c"] {
            let connection = try await Connection.open(server.url(), on: clients.loop)
            try await connection.set(place("people/\(name)"), to: json(#"{"on":true}"#))
            try await connection.onDisconnect(set: place("people/\(name)/on"), to: json("false"))
            try await connection.onDisconnect(
                set: place("people/\(name)/at"), to: json(#"{".sv":{"increment":1}}"#))
            connections.append(connection)
        }
        try await connections[2].cancelOnDisconnect(path("people"))
        server.process.signal(SIGKILL)
        #expect(try await server.process.outcome().code == -SIGKILL)
        for _ in 0..<2 {
            let server = try await ServerProcess(folder.path)
            let connection = try await Connection.open(server.url(), on: clients.loop)
            let people = try await connection.get(path("people"))
            #expect(people == (try json(#"{"a":{"at":1,"on":false},"b":{"at":1,"on":false},"c":{"on":true}}"#)))
            server.process.signal(SIGKILL)
            #expect(try await server.process.outcome().code == -SIGKILL)
        }
    }

    @Test("is written when the server ends in good order")
    func shutdown() async throws {
        let folder = TemporaryFolder()
        let clients = try TestLoop()
        var server = try await ServerProcess(folder.path)
        let connection = try await Connection.open(server.url(), on: clients.loop)
        try await connection.onDisconnect(set: place("people/a"), to: json("false"))
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
        server = try await ServerProcess(folder.path)
        let next = try await Connection.open(server.url(), on: clients.loop)
        #expect(try await next.get(path("people")) == (try json(#"{"a":false}"#)))
        server.process.signal(SIGKILL)
        _ = try await server.process.outcome()
    }
}
