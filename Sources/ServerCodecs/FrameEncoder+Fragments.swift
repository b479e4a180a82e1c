package import HearthWebSocketCodec

extension FrameEncoder {
    /// Appends a message in frames of at most `fragmentSize` bytes, at least one frame.
    ///
    /// - Parameter nextKey: called once for each frame; nil for a server.
    package static func appendFragments(
        _ kind: MessageKind, _ payload: RawSpan, fragmentSize: Int, isCompressed: Bool = false,
        to output: inout [UInt8], nextKey: () -> MaskingKey? = { nil }
    ) {
        var start = 0
        repeat {
            let end = start + min(max(fragmentSize, 1), payload.byteCount - start)
            let isFirst = start == 0
            append(
                isFirst ? kind.opcode : .continuation, payload.extracting(start..<end),
                isFinal: end == payload.byteCount, isCompressed: isFirst && isCompressed, key: nextKey(), to: &output)
            start = end
        } while start < payload.byteCount
    }
}
