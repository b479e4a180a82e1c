package import HearthJSONTree
package import HearthSecurityRules
package import HearthStorageErrors

/// Something that a trigger is to tell: how the value at a place has changed.
package struct TriggerEvent: Hashable, Sendable {
    /// Who has changed it.
    package enum Author: Hashable, Sendable {
        case user([UInt8])
        case administrator
        /// Somebody who is not signed in.
        case nobody
        /// The server itself: a child has expired.
        case server
    }

    /// The same for every attempt to deliver it; no dots.
    package var id: String
    /// The name of the trigger.
    package var trigger: String
    package var kind: TriggerDefinition.Kind
    package var path: Path
    /// Milliseconds since 1970 of the commit.
    package var time: Int64
    package var author: Author
    /// JSON text of the value before, without priorities.
    package var data: [UInt8]
    /// JSON text of the merge patch that makes the value after it (``CanonicalJSON/mergePatch(to:)``).
    package var delta: [UInt8]
    /// Milliseconds since 1970 from which on it is tried: that of the commit, or of a later wish of an administrator.
    package var since: Int64
    /// Why it is not delivered; nil if it waits to be.
    package var failure: String?
    /// False of one that has no values, because they were too large or too many: it can only be looked at.
    package var isWhole = true

    package init(
        id: String, trigger: String, kind: TriggerDefinition.Kind, path: Path, time: Int64, author: Author,
        data: [UInt8], delta: [UInt8]
    ) {
        (self.id, self.trigger, self.kind, self.path) = (id, trigger, kind, path)
        (self.time, self.author, self.data, self.delta, since) = (time, author, data, delta, time)
    }
}

/// The form in which logs and stores keep it: a JSON object.
extension TriggerEvent {
    package var stored: [UInt8] {
        var out = Array("{\"id\":".utf8) + Self.quoted(Array(id.utf8))
        func add(_ name: StaticString, _ json: [UInt8]) {
            out.append(contentsOf: ",\"\(name)\":".utf8)
            out += json
        }
        add("trigger", Self.quoted(Array(trigger.utf8)))
        add("kind", Self.quoted(Array(kind.rawValue.utf8)))
        add("path", Self.quoted(path.text))
        add("time", CanonicalJSON(integer: time).bytes)
        switch author {
        case .user(let uid): add("uid", Self.quoted(uid))
        case .administrator: add("by", Array(#""admin""#.utf8))
        case .server: add("by", Array(#""server""#.utf8))
        case .nobody: break
        }
        add("data", data)
        add("delta", delta)
        if since != time { add("since", CanonicalJSON(integer: since).bytes) }
        if let failure { add("failure", Self.quoted(Array(failure.utf8))) }
        if !isWhole { add("part", Array("true".utf8)) }
        out.append(UInt8(ascii: "}"))
        return out
    }

    private static func quoted(_ utf8: [UInt8]) -> [UInt8] { CanonicalJSON(string: utf8).bytes }

    /// Reads what ``stored`` gives.
    package init(stored: [UInt8]) throws(StorageError) {
        let fields: StoredFields
        do throws(JSONError) {
            fields = try stored.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in try StoredFields(bytes) }
        } catch {
            throw .damaged("an event of a trigger is not a JSON object")
        }
        guard let kind = TriggerDefinition.Kind(rawValue: fields.kind), let path = try? Path(parsing: fields.path),
            !fields.id.isEmpty, TriggerDefinition.isValidName(fields.trigger)
        else { throw .damaged("an event of a trigger is not whole") }
        let author: Author =
            if let uid = fields.uid { .user(uid) } else {
                switch fields.by {
                case "admin": .administrator
                case "server": .server
                default: .nobody
                }
            }
        self.init(
            id: fields.id, trigger: fields.trigger, kind: kind, path: path, time: fields.time, author: author,
            data: fields.data, delta: fields.delta)
        since = fields.since ?? fields.time
        failure = fields.failure
        isWhole = !fields.isPart
    }
}

private struct StoredFields {
    var (id, trigger, kind, by) = ("", "", "", "")
    var path: [UInt8] = []
    var uid: [UInt8]?
    var time: Int64 = 0
    var since: Int64?
    var (data, delta) = (Array("null".utf8), Array("null".utf8))
    var failure: String?
    var isPart = false

    init(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        var fields = self
        var reader = JSONReader(bytes)
        try reader.forEachMember { (reader, name) throws(JSONError) in try fields.read(name, &reader) }
        self = fields
    }

    private mutating func read(_ name: UnsafeRawBufferPointer, _ reader: inout JSONReader) throws(JSONError) {
        func text(_ reader: inout JSONReader) throws(JSONError) -> String {
            String(decoding: try reader.string(), as: UTF8.self)
        }
        switch String(decoding: name, as: UTF8.self) {
        case "id": id = try text(&reader)
        case "trigger": trigger = try text(&reader)
        case "kind": kind = try text(&reader)
        case "path": path = try reader.string()
        case "time": time = try reader.integer()
        case "uid": uid = try reader.string()
        case "by": by = try text(&reader)
        case "data": data = [UInt8](try reader.skipValue())
        case "delta": delta = [UInt8](try reader.skipValue())
        case "since": since = try reader.integer()
        case "failure": failure = try text(&reader)
        default:
            let value = try reader.skipValue()
            if name.equals("part") { isPart = value.equals("true") }
        }
    }
}
