import HearthJSONValues

/// Asks for all changes of keys from a revision on. The reply is a stream of lines, which ``EtcdWatchDecoder``
/// reads; it lasts until the connection is closed.
package struct EtcdWatch: Hashable, Sendable {
    package static let path: StaticString = "/v3/watch"

    package var keys: EtcdKeyRange
    /// The first revision whose changes are wanted.
    package var start: Int64

    /// - precondition: `start` is positive: 0 would mean "from now on", which could not be resumed.
    package init(_ keys: EtcdKeyRange, from start: Int64) {
        precondition(start > 0)
        self.keys = keys
        self.start = start
    }

    package var body: [UInt8] {
        var body = RequestBody(into: [])
        body.open()
        body.open("create_request")
        body.range(keys)
        body.field("start_revision", start)
        // A sign of life while nothing changes.
        body.field("progress_notify", true)
        // Otherwise all that has happened since would be one line.
        body.field("fragment", true)
        body.close()
        body.close()
        return body.bytes
    }
}

package enum EtcdChange: Hashable, Sendable {
    case put(EtcdKeyValue)
    case delete(key: [UInt8], revision: Int64)

    package var revision: Int64 {
        switch self {
        case .put(let value): value.modRevision
        case .delete(_, let revision): revision
        }
    }

    package var key: [UInt8] {
        switch self {
        case .put(let value): value.key
        case .delete(let key, _): key
        }
    }
}

package enum EtcdWatchEvent: Hashable, Sendable {
    /// The watch has begun.
    case opened
    /// Complete revisions: all their changes to the watched keys, in order. Never empty.
    case changes([EtcdChange])
    /// Nothing else has changed up to this revision.
    case progress(Int64)
}

/// Reads the lines of a watch. Feed it the body of the response, in any pieces.
///
/// A revision whose changes come in several fragments is passed on as a whole. Changes from before the first
/// revision that is still wanted are left out: etcd 3.4 sends some of them again after a member was restored from a
/// snapshot.
package struct EtcdWatchDecoder: Sendable {
    /// Bytes of a line, or of the lines of one message in fragments.
    private let bytesMax: Int
    private var line: [UInt8] = []
    private var fragments: [EtcdChange] = []
    private var fragmentBytes = 0
    /// The first revision whose changes have not been passed on.
    package private(set) var next: Int64

    package init(_ watch: EtcdWatch, bytesMax: Int = 256 << 20) {
        next = watch.start
        self.bytesMax = bytesMax
    }

    /// Appends the events that the bytes complete. Throws when the watch has ended; nothing may be fed after that.
    package mutating func feed(
        _ bytes: ArraySlice<UInt8>, into events: inout [EtcdWatchEvent]
    ) throws(EtcdError) {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            line.append(contentsOf: rest[..<end])
            rest = rest[rest.index(after: end)...]
            if line.count + fragmentBytes > bytesMax { throw .malformedReply("a message is too long") }
            if let event = try message() { events.append(event) }
            line.removeAll(keepingCapacity: line.count < 1 << 20)
        }
        line.append(contentsOf: rest)
        if line.count + fragmentBytes > bytesMax { throw .malformedReply("a message is too long") }
    }

    private mutating func message() throws(EtcdError) -> EtcdWatchEvent? {
        let value: JSONValue
        do throws(JSONValueError) { value = try JSONValue(parsing: line) } catch {
            throw .malformedReply("a line is not a JSON text")
        }
        guard let members = value.object.map(ReplyObject.init) else { throw .malformedReply("a line is not an object") }
        if let error = try members.error() { throw error }
        guard let result = try members.object("result") else { throw .malformedReply("a line without a result") }
        if try result.flag("canceled") { throw try Self.end(result) }
        if try result.flag("created") { return .opened }
        for event in try result.objects("events") {
            let change = try Self.change(event)
            if change.revision >= next { fragments.append(change) }
        }
        if try result.flag("fragment") {
            fragmentBytes += line.count
            return nil
        }
        defer {
            fragments = []
            fragmentBytes = 0
        }
        guard let last = fragments.last else {
            // An answer to nothing that was asked (`watch_id` -1) must not be relied on.
            guard try result.integer("watch_id") >= 0, !result.has("events") else { return nil }
            return .progress(try result.header().revision)
        }
        guard zip(fragments, fragments.dropFirst()).allSatisfy({ $0.revision <= $1.revision }) else {
            throw .malformedReply("changes are not in order")
        }
        next = last.revision + 1
        return .changes(fragments)
    }

    /// Why etcd has ended the watch. It leaves the stream open, so the caller has to close it.
    private static func end(_ result: ReplyObject) throws(EtcdError) -> EtcdError {
        let oldest = try result.integer("compact_revision")
        if oldest > 0 { return .compacted(oldest: oldest) }
        let reason = try result.text("cancel_reason")
        return reason.contains("PermissionDenied") ? .denied(reason) : .unavailable("the watch was ended: \(reason)")
    }

    private static func change(_ event: ReplyObject) throws(EtcdError) -> EtcdChange {
        guard let members = try event.object("kv") else { throw .malformedReply("a change without a key") }
        let value = try EtcdKeyValue(members)
        // There is a revision after it.
        guard value.modRevision > 0, value.modRevision < .max, !value.key.isEmpty else {
            throw .malformedReply("a change without a revision")
        }
        switch try event.text("type") {
        case "", "PUT": return .put(value)
        case "DELETE": return .delete(key: value.key, revision: value.modRevision)
        case let type: throw .malformedReply("a change of type \(type)")
        }
    }
}
