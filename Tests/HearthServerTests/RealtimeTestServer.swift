import HearthEventLoop
import Glibc
import HearthRealtimeSessions
import HearthServerLog
import HearthServerSupport
import HearthSystem
import Synchronization
import Testing

@testable import HearthAdministration
@testable import HearthServer

/// A server of a test's own on loopback, ended with it, with a data folder that goes too.
final class RealtimeTestServer {
    let server: Server
    private let folder: String
    private var peers: [RealtimePeer] = []
    private var ending: NamedThread?

    init(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws {
        var template = Array("/tmp/hearth-test-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil, "make a folder: \(errno)")
        folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder)
        configuration.isDevelopment = true
        configuration.loops = 2
        configuration.logLevel = .error
        configuration.bePatient()
        configure(&configuration)
        server = try Server(configuration)
    }

    deinit {
        // A connection whose other end stays open is waited for.
        for peer in peers { peer.hangUp() }
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

    /// What clients put into `Host`.
    var host: String { "\(server.address)" }

    func connect(
        _ target: String = "/.ws?v=5&ns=example", offersCompression: Bool = false, receiveBuffer: Int32? = nil,
        early: [String] = []
    ) throws -> RealtimePeer {
        let peer = try RealtimePeer(
            port: server.address.port, host: host, target: target, offersCompression: offersCompression,
            receiveBuffer: receiveBuffer, early: early)
        peers.append(peer)
        return peer
    }

    /// Where administrators are answered.
    func connectAdmin(_ target: String) throws -> RealtimePeer {
        let peer = try RealtimePeer(port: server.adminAddress.port, host: host, target: target)
        peers.append(peer)
        return peer
    }

    /// The realtime sessions that have not ended.
    var sessionCount: Int {
        let count = Mutex(0)
        let known = Semaphore()
        server.services.administered.connected.report(0) { reports in
            count.withLock { $0 = reports.reduce(0) { $0 + $1.sessions } }
            known.signal()
        }
        known.wait()
        return count.withLock { $0 }
    }

    /// Ends the server while the test continues. Once.
    func beginToStop() throws {
        precondition(ending == nil)
        ending = try NamedThread(name: "stop") { [server] in server.stop() }
    }

    /// Waits for what `beginToStop` has begun. No connection may be open at its other end.
    func waitForEnd() { ending?.join() }
}
