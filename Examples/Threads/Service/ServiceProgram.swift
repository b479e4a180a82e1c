import HearthExampleKit
import HearthExampleTerminal

/// The service, until it is asked to end.
let serviceProgram = Program(
    .init("hearth-threads-service", "Threads and messages over HTTP, kept in a Hearth database.") { call in
        let server = try ThreadsServer(
            .init(listen: call.required("listen"), url: call.server, projectID: call["project"]))
        say("hearth-threads-service: ready on \(server.address)")
        await server.untilSignal()
        server.stop()
    },
    options: [
        .init("listen", "HOST:PORT", "where to listen", usual: "127.0.0.1:8080"),
        .init("server", "URL", "the database", usual: "http://127.0.0.1:9000"),
        .init("project", "NAME", "the project of its users; none for a database in development mode"),
    ])
