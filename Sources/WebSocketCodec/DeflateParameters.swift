/// The agreement of both ends on permessage-deflate (RFC 7692 section 7.1).
package struct DeflateParameters: Equatable, Sendable {
    /// zlib's raw deflate has no window of 256 bytes.
    package static let windowBitsMin = 9

    /// A promise of one end's compressor, on which the other's decompressor relies.
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

    /// For messages of the server.
    package var server: Direction
    /// For messages of the client.
    package var client: Direction

    package init(server: Direction = Direction(), client: Direction = Direction()) {
        self.server = server
        self.client = client
    }

    /// For messages of the end in `role`.
    package func outgoing(_ role: WebSocketRole) -> Direction { role == .server ? server : client }
}
