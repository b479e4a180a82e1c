import Glibc
import Testing

/// Asks a server on loopback over HTTP, once, waiting at most a minute. The whole answer.
package func httpGet(_ path: String, from address: String) throws -> String { try http("GET", path, at: address) }

/// Any request. `fields` are whole lines.
package func http(
    _ method: String, _ path: String, _ fields: [String] = [], _ body: String = "", at address: String
) throws -> String {
    let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = port.bigEndian
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &place) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    try #require(result == 0, "connect to port \(port): \(errno)")
    let lines = ["\(method) \(path) HTTP/1.1", "Host: \(address)", "Connection: close"] + fields
    let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
    let request = Array(((lines + length).joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    try #require(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        try #require(count >= 0, "receive: \(errno)")
        if count == 0 { return String(decoding: answer, as: UTF8.self) }
        answer += buffer[..<count]
    }
}
