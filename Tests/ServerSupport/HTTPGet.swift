import Glibc
import HearthTestSupport
import Testing

/// Asks a server on loopback over HTTP, once, waiting at most `Patience.limit`. The whole answer.
package func httpGet(_ path: String, from address: String) throws -> String { try http("GET", path, at: address) }

/// Any request. `fields` are whole lines.
package func http(
    _ method: String, _ path: String, _ fields: [String] = [], _ body: String = "", at address: String
) throws -> String {
    let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
    let descriptor = try LoopbackSocket.make()
    defer { close(descriptor) }
    let error = LoopbackSocket.connect(descriptor, to: port)
    try #require(error == 0, "connect to port \(port): \(error)")
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
