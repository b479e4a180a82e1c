/// The limits of a value (Protocol.md 9). The limit of a key is `Key.maximumByteCount`.
package struct JSONLimits: Hashable, Sendable {
    /// The longest text that is parsed at all: the limit of a write over HTTP.
    package static let maximumTextByteCount = 256 << 20

    /// Levels below the value's root: `Path.maximumDepth` less the depth of the place it is written to.
    package var depth: Int
    /// UTF-8 bytes of a string value.
    package var stringByteCount: Int
    /// Bytes of the canonical text. It may be seven times as long as the text that is read (an array of digits).
    package var byteCount: Int

    package init(
        depth: Int = Path.maximumDepth, stringByteCount: Int = 10 << 20,
        byteCount: Int = JSONLimits.maximumTextByteCount
    ) {
        self.depth = depth
        self.stringByteCount = stringByteCount
        self.byteCount = byteCount
    }
}
