import HearthHTTPCodec
package import HearthJSONTree
package import HearthRealtimeDatabase

/// The events of a stream (rest.md 4). Values are shown as a read shows them without `format=export`, so
/// priorities are no news.
package enum EventStreamWriter {
    package static let keepAlive = event("keep-alive", "null")
    /// The data may not be read any more; the stream ends.
    package static let cancel = event("cancel", "null")
    /// The credential has run out or was revoked; the stream ends. Clients compare the text, which is not JSON.
    package static let authRevoked = event("auth_revoked", "credential is no longer valid")

    /// What stands before and after the value that a stream begins with, as of a position.
    package static let initialHead = Array("event: put\ndata: {\"path\":\"/\",\"data\":".utf8)

    package static func initialTail(_ position: Position?) -> [UInt8] {
        var out = Array("}".utf8)
        endEvent(position, to: &out)
        return out
    }

    /// Says that the stream is alive, and where it is.
    static func appendKeepAlive(at position: Position, to out: inout [UInt8]) {
        out += keepAlive.dropLast(2)
        endEvent(position, to: &out)
    }

    private static func endEvent(_ position: Position?, to out: inout [UInt8]) {
        if let position {
            out += "\nid: ".utf8
            out += position.text
        }
        out += "\n\n".utf8
    }

    private static func event(_ name: StaticString, _ data: String) -> [UInt8] {
        var out: [UInt8] = []
        ServerSentEvent.append(name, data: Array(data.utf8).span, to: &out)
        return out
    }

    /// What a change means to a stream at `path`, which all of it lies at or below. A set is a `put`. An update is a
    /// `patch` if all that it sets are children of one place, otherwise one `put` for each: the keys of a `patch` are
    /// not paths. Changes of priorities are nothing. The last event has the position after the change, if one is given,
    /// so that a client has either all of it or none.
    package static func append(_ change: Change, at path: Path, position: Position? = nil, to out: inout [UInt8]) {
        switch change {
        case .set(let assignment):
            if !assignment.target.isPriority { appendPut(assignment, at: path, position, to: &out) }
        case .setChildren(of: let base, _): appendPatch(change.assignments, of: base, at: path, position, to: &out)
        case .merge(_, let assignments):
            let values = assignments.filter { !$0.target.isPriority }
            if let parent = values.first?.target.path.parent, path.contains(parent),
                values.allSatisfy({ $0.target.path.parent == parent })
            {
                appendPatch(values, of: parent, at: path, position, to: &out)
            } else {
                for (index, assignment) in values.enumerated() {
                    appendPut(assignment, at: path, index == values.count - 1 ? position : nil, to: &out)
                }
            }
        }
    }

    private static func appendPut(
        _ assignment: Assignment, at path: Path, _ position: Position?, to out: inout [UInt8]
    ) {
        appendPutHead(of: assignment.target.path, at: path, to: &out)
        JSONOutput.plain.append(assignment.value, to: &out)
        appendPutTail(position, to: &out)
    }

    /// The text of a `put` before its value, and after it.
    static func appendPutHead(of place: Path, at path: Path, to out: inout [UInt8]) {
        ServerSentEvent.begin("put", to: &out)
        appendHead(of: place, at: path, to: &out)
    }

    static func appendPutTail(_ position: Position?, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "}"))
        endEvent(position, to: &out)
    }

    private static func appendPatch(
        _ values: [Assignment], of parent: Path, at path: Path, _ position: Position?, to out: inout [UInt8]
    ) {
        ServerSentEvent.begin("patch", to: &out)
        appendHead(of: parent, at: path, to: &out)
        for (index, assignment) in values.enumerated() {
            out.append(UInt8(ascii: index == 0 ? "{" : ","))
            let child = assignment.target.path.encoded
            child.withUnsafeBytes {
                Key.appendJSON(encoded: UnsafeRawBufferPointer(rebasing: $0[parent.encoded.count...]), to: &out)
            }
            out.append(UInt8(ascii: ":"))
            JSONOutput.plain.append(assignment.value, to: &out)
        }
        out += "}}".utf8
        endEvent(position, to: &out)
    }

    private static func appendHead(of place: Path, at path: Path, to out: inout [UInt8]) {
        out += "{\"path\":".utf8
        var text = [UInt8(ascii: "/")]
        place.dropFirst(bytes: path.encoded.count).appendText(to: &text)
        JSONText.appendQuoted(text, to: &out)
        out += ",\"data\":".utf8
    }
}
