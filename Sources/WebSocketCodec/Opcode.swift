/// The kind of a frame (RFC 6455 section 5.2).
package enum Opcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The two kinds of messages (RFC 6455 section 5.6).
package enum MessageKind: Sendable {
    case text
    case binary

    /// Of the first frame of such a message.
    package var opcode: Opcode { self == .text ? .text : .binary }
}

/// Which end of a connection this side is. Frames of a client are masked, those of a server are not
/// (RFC 6455 section 5.1).
package enum WebSocketRole: Sendable, CaseIterable {
    case server
    case client
}
