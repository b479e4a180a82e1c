import EventLoop
import ExampleKit

/// The service, until it is asked to end.
let serviceProgram = Program(
    .init("hearth-threads-service", "Threads and messages over HTTP, kept in a Hearth database.") { call in
        guard let address = SocketAddress(hostAndPort: call.required("listen")) else {
            throw WrongCall("--listen takes an address and a port, as in 127.0.0.1:8080")
        }
        Signals.ignoreFailedWrites()
        let server = try ThreadsServer(
            ThreadsServer.Configuration(address: address, url: call.server, projectID: call["project"]))
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        try server.onSignals { continuation.finish() }
        say("hearth-threads-service: ready on \(server.address.description)")
        for await _ in signals {}
        server.stop()
    },
    options: [
        .init("listen", "HOST:PORT", "where to listen", usual: "127.0.0.1:8080"), .server("the database"),
        .init("project", "NAME", "the project of its users; none for a database in development mode"),
    ])
