import EventLoop
import Glibc
import HearthServer
import Testing

/// A server of a test's own on loopback, ended with it, with a data folder that goes too.
final class RESTTestServer {
    let server: Server
    private let folder: String

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
        server.stop()
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

    func connect(receiveBuffer: Int32? = nil) throws -> RESTClient {
        try RESTClient(port: server.address.port, receiveBuffer: receiveBuffer)
    }
}
