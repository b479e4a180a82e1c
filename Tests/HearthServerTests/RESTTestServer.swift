import EventLoop
import Glibc
import HearthServer
import Testing
import TreeStorage

/// A server of a test's own on loopback, ended with it, with a data folder that goes too.
final class RESTTestServer {
    let server: Server
    private let folder: String
    private var ending: NamedThread?

    init(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws {
        var template = Array("/tmp/hearth-test-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil, "make a folder: \(errno)")
        folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder)
        configuration.isDevelopment = true
        configuration.durability = .process
        configuration.loops = 1
        configuration.logLevel = .error
        configure(&configuration)
        server = try Server(configuration)
    }

    deinit {
        if let ending { ending.join() } else { server.stop() }
        if let entries = opendir(folder) {
            while let entry = readdir(entries) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                unlink("\(folder)/\(name)")
            }
            closedir(entries)
        }
        rmdir(folder)
    }

    /// Ends the server while the test goes on.
    func beginToStop() throws {
        ending = try NamedThread(name: "stop") { [server] in server.stop() }
    }

    var port: UInt16 { server.address.port }

    func connect(receiveBuffer: Int32? = nil) throws -> RESTClient {
        try RESTClient(port: port, receiveBuffer: receiveBuffer, of: self)
    }
}
