package import HearthJSONValues

/// A call of etcd's v3 API through its HTTP/JSON gateway, which has one reply.
package protocol EtcdCall: Sendable {
    associatedtype Reply: Sendable

    /// Where the request is posted to.
    static var path: StaticString { get }

    /// Doing it twice has the same effect as doing it once, so it may be repeated after an unknown outcome.
    var isRepeatable: Bool { get }

    /// The JSON text of the request.
    var body: [UInt8] { get }

    func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> Reply
}

extension EtcdCall {
    /// Reads the body of an HTTP response.
    package func reply(status: Int, body: [UInt8]) throws(EtcdError) -> (header: EtcdHeader, reply: Reply) {
        let value: JSONValue
        // A stream's messages are lines.
        let text = body.last == UInt8(ascii: "\n") ? Array(body.dropLast()) : body
        do throws(JSONValueError) { value = try JSONValue(parsing: text) } catch {
            throw .malformedReply("HTTP status \(status) without a JSON text")
        }
        guard var members = value.object else { throw .malformedReply("HTTP status \(status) without an object") }
        if let error = try ReplyObject(members).error() { throw error }
        guard status == 200 else { throw .malformedReply("HTTP status \(status)") }
        // Calls that are streams, of which one message is asked for.
        if case .object(let result)? = members["result"] { members = result }
        let header = try ReplyObject(members).header()
        return (header, try reply(header, members))
    }
}
