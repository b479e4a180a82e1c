package import HearthEventLoop
import HearthEventLoopTransport
import Glibc
package import HearthServer
package import HearthJSONTree
import HearthServerLog
import Synchronization
package import Testing
import HearthTreeStorage
package import HearthClientSession
package import HearthConnection

/// A folder that goes with the test.
package final class TestFolder: Sendable {
    package let path: String

    package init() throws {
        var template = [CChar]("/tmp/hearth-client-XXXXXX".utf8CString)
        path = String(cString: try #require(mkdtemp(&template)))
    }

    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                unlink("\(path)/\(name)")
            }
            closedir(folder)
        }
        rmdir(path)
    }

    package func write(_ text: String, as name: String) throws -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(
            Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == text.utf8.count)
        return file
    }
}

/// A running loop that ends with the test.
package final class TestLoop: Sendable {
    package let loop: EventLoop

    package init() throws {
        loop = try EventLoop(name: "test")
        try loop.start()
    }

    deinit {
        loop.stop()
        loop.join()
    }
}

/// A server on loopback with an empty folder, and a loop for its clients. Both end with the test.
package final class TestDatabase: Sendable {
    package let server: Server
    package let clients: TestLoop
    package let databases = ClientsOfServer()
    private let folder: TestFolder
    private let isStopped = Mutex(false)
    private let usesTLS: Bool

    package init(_ configure: (inout ServerConfiguration, TestFolder) throws -> Void = { _, _ in }) throws {
        folder = try TestFolder()
        clients = try TestLoop()
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder.path)
        configuration.isDevelopment = true
        configuration.durability = .process
        configuration.logLevel = .error
        configuration.loops = 2
        configuration.bePatient()
        try configure(&configuration, folder)
        usesTLS = configuration.tls != nil
        server = try Server(configuration)
    }

    deinit { stop() }

    package func stop() {
        let isFirst = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        if isFirst { server.stop() }
    }

    package var urlText: String { "\(usesTLS ? "wss" : "ws")://\(server.address)" }

    package func connect(
        database: String = "", options: ConnectionOptions = .patient
    ) async throws -> Connection {
        try await Connection.open(DatabaseURL("\(urlText)/?ns=\(database)"), on: clients.loop, options: options)
    }
}

package func path(_ text: String) throws -> Path { try Path(parsing: text) }

package func place(_ text: String) throws -> WriteTarget { try WriteTarget(parsing: text) }

package func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

extension Change {
    package static func set(_ target: String, _ value: String) throws -> Change {
        .set(Assignment(target: try place(target), value: try json(value)))
    }

    package static func update(_ base: String, _ values: [(String, String)]) throws -> Change {
        let assignments = try values.map { Assignment(target: try place("\(base)/\($0)"), value: try json($1)) }
        return .update(try path(base), assignments)
    }
}

extension Changes.Iterator {
    /// The next change, which must be there.
    package mutating func required(_ location: SourceLocation = #_sourceLocation) async throws -> Change {
        try #require(try await next(isolation: nil), sourceLocation: location)
    }
}
