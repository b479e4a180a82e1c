import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthWireProtocol

@testable import HearthREST

/// The client's end of an event stream, which keeps what the events add up to.
final class EventStreamClient {
    let head: ResponseHead
    let connection: RESTClient
    /// What the stream has told.
    private(set) var value = CanonicalJSON.null
    /// All of it, as it came.
    private(set) var bytes: [UInt8] = []
    private var parser = EventStreamParser(eventBytesMax: 1 << 28)
    /// Received bytes that are not parsed yet.
    private var input: [UInt8] = []

    init(
        _ target: String, of server: RealtimeTestServer, version: String = "HTTP/1.1", receiveBuffer: Int32? = nil,
        lastEventID: [UInt8]? = nil, fields: [String] = []
    ) throws {
        connection = try server.connectREST(receiveBuffer: receiveBuffer)
        let id = lastEventID.map { "Last-Event-ID: \(String(decoding: $0, as: UTF8.self))\r\n" } ?? ""
        let more = fields.map { "\($0)\r\n" }.joined()
        try connection.send(
            "GET \(target) \(version)\r\nHost: localhost\r\nAccept: text/event-stream\r\n\(id)\(more)Cache-Control: no-cache\r\n\r\n"
        )
        guard case .head(let head) = try connection.receivePart() else {
            throw RESTError("the response has no head")
        }
        self.head = head
    }

    /// That of the last event.
    var lastEventID: [UInt8] { parser.lastEventID }

    /// The next event; nil at the end of the stream.
    func next() throws -> ServerSentEvent? {
        while true {
            let (event, left) = try input.withUnsafeBytes { bytes in
                var rest = UnsafeRawBufferPointer(bytes)
                return (try parser.next(&rest), rest.count)
            }
            input.removeFirst(input.count - left)
            if let event {
                try take(event)
                return event
            }
            switch try connection.receivePart() {
            case .body(let new):
                input += new
                bytes += new
            case .end, nil: return nil
            case .head, .failure: throw RESTError("the response is broken")
            }
        }
    }

    /// The next event as one line.
    func nextLine() throws -> String? {
        try next().map { "\(String(decoding: $0.event, as: UTF8.self)) \(String(decoding: $0.data, as: UTF8.self))" }
    }

    private func take(_ event: ServerSentEvent) throws {
        let isPatch = event.event.elementsEqual("patch".utf8)
        guard isPatch || event.event.elementsEqual("put".utf8) else { return }
        // A quote within the path has a backslash before it.
        let mark = Array("\",\"data\":".utf8)
        let middle = try #require(
            event.data.indices.first { event.data[$0...].starts(with: mark) }, "an event without data")
        let head = try CanonicalJSON.parse(Array(event.data[..<middle]) + Array("\"}".utf8)).value
        let place = try Path(parsing: try #require(head.value(at: "path").stringUTF8))
        let data = Array(event.data[(middle + mark.count)...].dropLast())
        if isPatch {
            for entry in try data.withUnsafeBytes({ try WireAssignment.parse($0, base: place) }) {
                value = value.setting(entry.value, at: entry.target.path)
            }
        } else {
            let entry = try data.withUnsafeBytes { try WireAssignment.parse($0, for: WriteTarget(path: place)) }
            value = value.setting(entry.value, at: place)
        }
    }
}
