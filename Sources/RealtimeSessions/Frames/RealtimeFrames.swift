import HearthDelivery
import HearthEventLoop
import HearthJSONTree
import HearthWebSocketCodec
import HearthWireProtocol

/// Messages of the realtime protocol in a server's WebSocket frames (Protocol.md 3.2).
enum RealtimeFrames {
    /// Appends a message.
    static func append(_ message: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        // A UTF-8 text has at least as many bytes as UTF-16 units.
        if message.count <= MessageChunks.unitsMax { return FrameEncoder.append(.text, message.bytes, to: &out) }
        let chunks = MessageChunks.ranges(of: message)
        if chunks.count > 1 { append(count: chunks.count, to: &out) }
        append(chunks, of: message, to: &out)
    }

    static func append(_ message: [UInt8], to out: inout [UInt8]) {
        message.withUnsafeBytes { append($0, to: &out) }
    }

    /// Appends a part of a message that comes in several.
    static func append(_ part: SnapshotStream.MessagePart, to out: inout [UInt8]) {
        if let count = part.chunkCount, count > 1 { append(count: count, to: &out) }
        part.text.withUnsafeBytes { text in
            var start = 0
            for end in part.chunkEnds {
                append([start..<end], of: text, to: &out)
                start = end
            }
        }
    }

    /// All messages of a list. The frames of a large value hold nothing else, so that several messages can have them.
    static func form(of list: MessageList, in outbound: OutboundMemory) -> MessageForm {
        var out: [UInt8] = []
        // A frame has a header of at most four bytes. A large message has one frame in 16 KiB, and at least four.
        let headerBytes = 4 * list.messages.count + list.byteCount / 1024
        out.reserveCapacity(list.byteCount + headerBytes + (list.values.isEmpty ? 0 : 16 * list.messages.count))
        var places: [Range<Int>] = []
        places.reserveCapacity(list.messages.count)
        var rests: [Int: MessageForm.Rest] = [:]
        var values: [(frames: Range<Int>, count: Int)?] = Array(repeating: nil, count: list.values.count)
        list.text.withUnsafeBytes { text in
            for (number, message) in list.messages.enumerated() {
                let start = out.count
                guard let large = message.large else {
                    append(UnsafeRawBufferPointer(rebasing: text[message.text]), to: &out)
                    places.append(start..<out.count)
                    continue
                }
                let head = UnsafeRawBufferPointer(rebasing: text[message.text.lowerBound..<large.place])
                let tail = UnsafeRawBufferPointer(rebasing: text[large.place..<message.text.upperBound])
                let (heads, tails) = (MessageChunks.ranges(of: head), MessageChunks.ranges(of: tail))
                list.values[large.number].bytes.withUnsafeBytes { value in
                    let known = values[large.number]
                    let chunks = known == nil ? MessageChunks.ranges(of: value) : []
                    append(count: heads.count + (known?.count ?? chunks.count) + tails.count, to: &out)
                    append(heads, of: head, to: &out)
                    places.append(start..<out.count)
                    append(chunks, of: value, to: &out)
                    let frames = known?.frames ?? places[number].upperBound..<out.count
                    values[large.number] = (frames, known?.count ?? chunks.count)
                    let end = out.count
                    append(tails, of: tail, to: &out)
                    rests[number] = MessageForm.Rest(value: frames, tail: end..<out.count)
                }
            }
        }
        return MessageForm(SharedBytes(out, in: outbound), places: places, rests: rests)
    }

    private static func append(count: Int, to out: inout [UInt8]) {
        FrameEncoder.append(.text, Array(String(count).utf8).span.bytes, to: &out)
    }

    private static func append(
        _ chunks: [Range<Int>], of text: UnsafeRawBufferPointer, to out: inout [UInt8]
    ) {
        for chunk in chunks {
            FrameEncoder.append(.text, UnsafeRawBufferPointer(rebasing: text[chunk]).bytes, to: &out)
        }
    }
}
