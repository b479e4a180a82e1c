import HearthServerCodecs
package import HearthJSONTree
import HearthTreeText
package import HearthRealtimeDatabase

/// The events of a stream (rest.md 4). Values are shown as a read shows them without `format=export`, so
/// priorities are no news.
package enum EventStreamWriter {
    package static let keepAlive = event("keep-alive", "null")
    /// The data may not be read any more; the stream ends.
    package static let cancel = event("cancel", "null")
    /// The credential has run out or was revoked; the stream ends. Clients compare the text, which is not JSON.
    package static let authRevoked = event("auth_revoked", "credential is no longer valid")

    /// The text before and after the initial value of a stream, as of a position.
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

    /// The events of a change for a stream at `path`, which all of it lies at or below. A set is a `put`. An update is
    /// a `patch` of the place where it was made, or of `path` if that lies below it; its keys are paths from there.
    /// Changes of priorities are nothing. The event has the position after the change, if one is given.
    package static func append(_ change: Change, at path: Path, position: Position? = nil, to out: inout [UInt8]) {
        switch change {
        case .set(let assignment):
            if !assignment.target.isPriority { appendPut(assignment, at: path, position, to: &out) }
        case .setChildren(of: let base, _): appendPatch(change.assignments, of: base, at: path, position, to: &out)
        case .merge(let base, let assignments):
            let values = assignments.filter { !$0.target.isPriority }
            let place = path.contains(base) ? base : path
            guard let first = values.first else { return }
            // The paths of an update do not overlap, so if one is the place itself, it is the only one.
            if first.target.path == place {
                appendPut(first, at: path, position, to: &out)
            } else {
                appendPatch(values, of: place, at: path, position, to: &out)
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
        _ values: [Assignment], of place: Path, at path: Path, _ position: Position?, to out: inout [UInt8]
    ) {
        ServerSentEvent.begin("patch", to: &out)
        appendHead(of: place, at: path, to: &out)
        for (index, assignment) in values.enumerated() {
            out.append(UInt8(ascii: index == 0 ? "{" : ","))
            JSONText.appendQuoted(assignment.target.path.dropFirst(bytes: place.encoded.count).text, to: &out)
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
