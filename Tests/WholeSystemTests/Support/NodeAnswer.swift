import HearthEventLoop
import HearthServerSupport
import HearthSystem

/// What a node answered over REST, to a question on a connection of its own.
struct NodeAnswer: Sendable {
    var status: Int
    var tag: String?
    var body: String

    /// Asks once, on this thread. Nil if no answer came.
    ///
    /// - parameter fields: whole lines.
    static func ask(
        _ method: String, _ path: String, _ body: String = "", fields: [String] = [], port: UInt16,
        within time: Duration = .seconds(6)
    ) -> NodeAnswer? {
        (try? NodeQuestion(method, path, body, fields: fields, port: port, within: time))?.answer()
    }

    /// The same, for a task.
    static func ask(_ method: String, _ path: String, _ body: String = "", at port: UInt16) async throws -> NodeAnswer?
    {
        try await onThread { ask(method, path, body, port: port) }
    }

    fileprivate init?(_ answer: [UInt8]) {
        let text = String(decoding: answer, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count == 3, let status = Int(words[1]) else { return nil }
        self.status = status
        tag =
            lines.lazy.compactMap { line in
                line.lowercased().hasPrefix("etag: ") ? String(line.dropFirst(6)) : nil
            }.first
        body = String(text[end.upperBound...])
    }
}

/// A question to a node that was sent, on a connection of its own.
struct NodeQuestion {
    private let connection: WaitingConnection

    /// Returns once the question is on its way.
    init(
        _ method: String, _ path: String, _ body: String = "", fields: [String] = [], port: UInt16,
        within time: Duration
    ) throws(WaitingConnection.Failure) {
        let isOfDatabase = !path.contains(":") && !path.contains("?") && path != "/readyz"
        let target = isOfDatabase ? "\(path).json" : path
        let lines =
            ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"] + fields
            + ["Content-Length: \(body.utf8.count)"]
        let request = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
        connection = try WaitingConnection(host: "127.0.0.1", port: port, timeout: time, deadline: .current + time)
        try connection.send(Array(request.utf8))
    }

    /// Waits for the answer. Nil if none comes.
    func answer() -> NodeAnswer? {
        do throws(WaitingConnection.Failure) {
            var answer: [UInt8] = []
            while true {
                let bytes = try connection.receive(maximum: 1 << 16)
                if bytes.isEmpty { break }
                answer += bytes
            }
            return NodeAnswer(answer)
        } catch {
            return nil
        }
    }
}
