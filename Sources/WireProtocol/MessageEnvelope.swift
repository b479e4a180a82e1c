package import HearthJSONTree

/// The envelope of every message, of clients and servers: `{"t":"d","d":{…}}` (Protocol.md 3.3).
struct MessageEnvelope {
    let layer: MessageLayer
    /// The text of the object inside.
    let payload: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) throws(MessageError) {
        var layer: MessageLayer?
        var payload: UnsafeRawBufferPointer?
        try MessageError.reading { () throws(JSONError) in
            var reader = JSONReader(bytes)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                if key.equals("t") {
                    layer = MessageLayer(try reader.skipValue())
                } else if key.equals("d") {
                    payload = try reader.skipValue()
                } else {
                    _ = try reader.skipValue()
                }
            }
            try reader.finish()
        }
        guard let layer else { throw MessageError.noLayer }
        guard let payload, payload.first == UInt8(ascii: "{") else { throw MessageError.noPayload }
        self.layer = layer
        self.payload = payload
    }
}

/// The subject of a message: the connection, or data.
package enum MessageLayer {
    case control
    case data

    package init?(_ text: UnsafeRawBufferPointer) {
        if text.equals("\"d\"") {
            self = .data
        } else if text.equals("\"c\"") {
            self = .control
        } else {
            return nil
        }
    }
}

/// Why the bytes of a message violate the protocol. The connection cannot continue.
package struct MessageError: Error, Hashable, Sendable {
    /// For people; quotes nothing of the message.
    package var reason: String

    package init(reason: String) { self.reason = reason }

    /// The text is invalid.
    package init(malformed error: JSONError) { reason = "malformed message: \(error)" }

    package static let noLayer = MessageError(reason: "the layer \"t\" of a message is \"c\" or \"d\"")
    package static let noPayload = MessageError(reason: "a message needs an object \"d\"")

    /// Runs `body`; invalid text makes the message invalid.
    static func reading<Result>(_ body: () throws(JSONError) -> Result) throws(MessageError) -> Result {
        do throws(JSONError) { return try body() } catch { throw MessageError(malformed: error) }
    }
}
