import HearthEventLoop
import Glibc
import HearthSystem
import HearthTestSupport
import Testing

@Suite("The service manager")
struct ServiceManagerTests {
    /// A socket that records its messages, like systemd's.
    private final class Listener {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

        init(path: [UInt8]) throws {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
            let count = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
            let bound = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, count) }
            }
            try #require(bound == 0)
        }

        deinit { close(descriptor) }

        func receive() -> String {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return String(decoding: buffer[..<max(count, 0)], as: UTF8.self)
        }
    }

    @Test("is told in datagrams to the path that it names")
    func path() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/notify"
        let listener = try Listener(path: Array(path.utf8))
        let manager = ServiceManager(socketName: path)
        manager.notify(.ready("answers"))
        #expect(listener.receive() == "READY=1\nSTATUS=answers\n")
        manager.notify(.reloading)
        let reload = listener.receive()
        #expect(reload.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        manager.notify(.draining(.seconds(10)))
        let draining = listener.receive()
        #expect(draining.hasPrefix("STOPPING=1\n"))
        #expect(draining.hasSuffix("EXTEND_TIMEOUT_USEC=70000000\n"))
        manager.notify(.stopping)
        #expect(listener.receive().hasPrefix("STOPPING=1\n"))
    }

    @Test("may have an abstract name")
    func abstractName() throws {
        let name = "hearth-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let listener = try Listener(path: [0] + Array(name.utf8))
        ServiceManager(socketName: "@" + name).notify(.ready("x"))
        #expect(listener.receive() == "READY=1\nSTATUS=x\n")
    }

    @Test("is nobody where nobody asked, and a name that is too long or leads nowhere does no harm")
    func nobody() {
        ServiceManager(socketName: nil).notify(.ready(""))
        ServiceManager(socketName: "").notify(.stopping)
        ServiceManager(socketName: "/nowhere/at/all").notify(.stopping)
        ServiceManager(socketName: String(repeating: "x", count: 500)).notify(.stopping)
    }
}
