import HearthServerSupport
import Glibc
import HearthTestSupport
import Testing

/// A server that the system gives less than it would need.
@Suite("A server that runs out of what the system gives it", .timeLimit(.minutes(15)))
struct ResourceLimitTests {
    @Test("without free descriptors a new database is refused with what to do, and others are served")
    func descriptors() async throws {
        let folder = TemporaryFolder()
        let server = try await ServerProcess(folder.path)
        _ = try http("PUT", "/a.json", [], "1", at: server.address)
        try server.process.limit(RLIMIT_NOFILE, to: UInt64(server.process.descriptorCount + 6))
        let answer = try http("PUT", "/a.json?ns=new", [], "1", at: server.address)
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.contains("as many files and connections open"))
        #expect(answer.contains("(ulimit -n)"))
        #expect(try http("PUT", "/a.json", [], "2", at: server.address).hasPrefix("HTTP/1.1 200 "))
        try server.process.limit(RLIMIT_NOFILE, to: nil)
        #expect(try http("PUT", "/a.json?ns=new", [], "1", at: server.address).hasPrefix("HTTP/1.1 200 "))
    }

    @Test("a body for which there is no memory is refused, and the server continues")
    func memory() async throws {
        let folder = TemporaryFolder()
        let server = try await ServerProcess(folder.path, "--request-mib-max", "4096")
        _ = try http("PUT", "/a.json", [], "1", at: server.address)
        try server.process.limit(RLIMIT_AS, to: UInt64(server.process.addressSpace + 150 << 20))
        let refused = try sendBlanks(of: 250 << 20, to: server.address)
        #expect(refused)
        #expect(try httpGet("/a.json", from: server.address).hasSuffix("\r\n\r\n1"))
        #expect(try http("PUT", "/a.json", [], "2", at: server.address).hasPrefix("HTTP/1.1 200 "))
    }

    /// Sends a body until the server takes no more of it; false if it takes all.
    private func sendBlanks(of count: Int, to address: String) throws -> Bool {
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
        let head = "PUT /b.json HTTP/1.1\r\nHost: \(address)\r\nContent-Length: \(count)\r\n\r\n"
        try #require(send(descriptor, head, head.utf8.count, Int32(MSG_NOSIGNAL)) == head.utf8.count)
        let blanks = [UInt8](repeating: 0x20, count: 1 << 20)
        for _ in 0..<count >> 20 {
            var answer: UInt8 = 0
            // The answer comes while the body is on its way.
            if recv(descriptor, &answer, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0 || errno != EAGAIN { return true }
            if send(descriptor, blanks, blanks.count, Int32(MSG_NOSIGNAL)) < blanks.count { return true }
        }
        return false
    }
}
