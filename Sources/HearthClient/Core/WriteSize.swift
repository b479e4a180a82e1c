import HearthJSONTree
import HearthWireProtocol

/// How much can be written at once: a server ends the connection when a message is larger, so a write of more would be
/// sent again for ever (Protocol.md 9).
enum WriteSize {
    /// Without the envelope of the message.
    static let bytesMax = 16 << 20

    /// - throws: `invalidValue`.
    static func check(_ assignments: [WireAssignment]) throws(DatabaseError) {
        let byteCount = assignments.reduce(0) { $0 + $1.value.bytes.count + $1.target.path.encoded.count }
        guard byteCount > bytesMax else { return }
        throw .invalidValue("the write has \(byteCount) bytes: at most \(bytesMax) are possible at once")
    }
}
