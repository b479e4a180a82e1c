/// What both ends agreed on for permessage-deflate (RFC 7692 section 7.1).
package struct DeflateParameters: Equatable, Sendable {
    /// zlib's raw deflate has no window of 256 bytes.
    package static let windowBitsMin = 9

    /// What one end's compressor promises, and the other's decompressor relies on.
    package struct Direction: Equatable, Sendable {
        /// Each message is compressed on its own, without reference to those before.
        package var noContextTakeover: Bool
        /// Base-two logarithm of the LZ77 window in bytes, 8 to 15.
        package var windowBits: Int

        package init(noContextTakeover: Bool = false, windowBits: Int = 15) {
            self.noContextTakeover = noContextTakeover
            self.windowBits = windowBits
        }
    }

    /// What the server compresses.
    package var server: Direction
    /// What the client compresses.
    package var client: Direction

    package init(server: Direction = Direction(), client: Direction = Direction()) {
        self.server = server
        self.client = client
    }

    /// What the end in `role` compresses.
    package func outgoing(_ role: WebSocketRole) -> Direction { role == .server ? server : client }
}
