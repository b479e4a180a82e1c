/// Limits of a decoder's memory and input. A limit is enforced as the byte that crosses it arrives.
package struct HTTPLimits: Sendable, Equatable {
    /// Bytes of a head: first line, header fields and the empty line. Also bounds, for a whole chunked body together,
    /// the bytes of chunk extensions and trailers. A first line that alone crosses it is answered with 414, else 431.
    package var headBytesMax: Int
    /// Header fields of a head (431).
    package var headerCountMax: Int
    /// Bytes of a body, without chunk framing (413).
    package var bodyBytesMax: Int

    /// A token in the query string can take several kilobytes, hence the roomy head. One REST write may have
    /// 256 MB (rest.md 1).
    package init(headBytesMax: Int = 32 << 10, headerCountMax: Int = 100, bodyBytesMax: Int = 256 << 20) {
        precondition(headBytesMax > 0 && headBytesMax <= 1 << 30, "header positions are 32-bit")
        self.headBytesMax = headBytesMax
        self.headerCountMax = headerCountMax
        self.bodyBytesMax = bodyBytesMax
    }
}
