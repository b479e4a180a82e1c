import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing

@testable import HearthHTTPResponses
@testable import HearthREST

/// Requests and their translations, for tests of the pure parts.
enum RESTRequests {
    static func head(_ line: String, _ fields: [String] = [], host: String = "localhost:9000") throws -> RequestHead {
        let text = ["\(line) HTTP/1.1", "Host: \(host)"] + fields
        var decoder = RequestDecoder()
        let bytes = Array((text.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        let head: RequestHead? = bytes.withUnsafeBytes { bytes in
            var input = bytes
            guard case .head(let head) = decoder.next(&input) else { return nil }
            return head
        }
        return try #require(head, "not a request: \(line)")
    }

    static let pushID = "-NxAbcdefghijklmnopq"

    static func exchange(_ line: String, _ fields: [String] = [], body: String = "") throws -> RESTExchange {
        let key = try Key(validating: pushID)
        return try RESTExchange(try head(line, fields), body: Array(body.utf8), pushID: key)
    }

    /// What a request is refused with, as its status and text.
    static func refusal(_ line: String, _ fields: [String] = [], body: String = "") throws -> String? {
        do {
            _ = try exchange(line, fields, body: body)
            return nil
        } catch let error as RESTError {
            return "\(error.status.code) \(error.text)"
        }
    }
}

extension HTTPResponse {
    /// `200 body`; with names, those header fields in between.
    func summary(_ names: String...) -> String {
        let fields = names.map { name in
            let value = headers.first { $0.name.description == name }?.value
            return "\(name): \(value.map { String(decoding: $0, as: UTF8.self) } ?? "-")"
        }
        let text =
            switch body {
            case .text(let text): String(decoding: text, as: UTF8.self)
            case .pieces, .events: "…"
            }
        return (["\(status.code)"] + fields + [text]).joined(separator: " ")
    }
}

extension Operation {
    /// `set a/b value`, …
    var summary: String {
        switch self {
        case .set(let target, let value, let expecting, let echoes):
            let condition =
                expecting.map { " if \($0.isEmpty ? "nothing" : String(decoding: $0, as: UTF8.self))" } ?? ""
            let place = String(decoding: target.text, as: UTF8.self)
            return "set /\(place) \(value.json)\(condition)\(echoes ? " echo" : "")"
        case .update(let base, let entries):
            let list = entries.map { "\(String(decoding: $0.target.text, as: UTF8.self))=\($0.value.json)" }
            return "update \(base) \(list.joined(separator: " "))"
        case .setChildren(let base, let children): return "set children of \(base) \(children.json)"
        case .get(let path, nil, needsIndex: _): return "get \(path)"
        case .get(let path, let query?, needsIndex: _): return "get \(path) \(query)"
        case .describe, .listen, .unlisten, .listenQuery, .unlistenQuery, .dropListener, .onDisconnect,
            .cancelOnDisconnect, .become, .relay, .explain, .forfeit, .disconnect, .job:
            return "\(self)"
        }
    }
}
