import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
package import HearthServerLog
import Synchronization

/// The last requests that rules have denied, for administrators.
package final class DenialLog: Sendable {
    private static let countMax = 1000

    private struct Entry {
        var database: String
        var request: DeniedRequest
    }

    /// Where they are told of as they happen, in development mode.
    private let log: Log?

    package init(log: Log? = nil) { self.log = log }

    /// A ring: once it is full, the next place is that of the oldest.
    private let ring = Mutex<(entries: [Entry], next: Int)>(([], 0))

    func add(_ requests: [DeniedRequest], in database: String) {
        if requests.isEmpty { return }
        if let log { for request in requests { request.write(to: log, database: database) } }
        ring.withLock { ring in
            for request in requests {
                let entry = Entry(database: database, request: request)
                if ring.entries.count < Self.countMax {
                    ring.entries.append(entry)
                } else {
                    ring.entries[ring.next] = entry
                    ring.next = (ring.next + 1) % Self.countMax
                }
            }
        }
    }

    /// A list of all there are of a database, the newest first.
    package func json(of database: String) -> [UInt8] {
        let entries = ring.withLock { ring in
            (ring.entries[ring.next...] + ring.entries[..<ring.next]).filter { $0.database == database }
        }
        var out = Array("[".utf8)
        for (index, entry) in entries.reversed().enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            Self.append(entry.request, to: &out)
        }
        return out + Array("]".utf8)
    }

    private static func append(_ request: DeniedRequest, to out: inout [UInt8]) {
        func member(_ name: String, _ text: [UInt8], first: Bool = false) {
            out += "\(first ? "{" : ",")\"\(name)\":".utf8
            JSONText.appendQuoted(text, to: &out)
        }
        member("operation", Array((request.isWrite ? "write" : "read").utf8), first: true)
        member("path", Array("/".utf8) + request.path.text)
        out += ",\"time\":\(request.time)".utf8
        if !request.uid.isEmpty { member("uid", request.uid) }
        if let reason = request.reason { member("why", Array(reason.utf8)) }
        out.append(UInt8(ascii: "}"))
    }
}

extension DeniedRequest {
    fileprivate func write(to log: Log, database: String) {
        var fields: [(StaticString, String)] = [
            ("database", database), ("operation", isWrite ? "write" : "read"), ("path", "\(path)"),
        ]
        if !uid.isEmpty { fields.append(("uid", String(decoding: uid, as: UTF8.self))) }
        if let reason { fields.append(("why", reason)) }
        log.info("rules.denied", fields)
    }
}
