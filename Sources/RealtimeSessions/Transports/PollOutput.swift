import HearthDelivery
import HearthWebSocketCodec

/// What waits to be polled: the messages in frames that were made for WebSockets, turned into calls of a script
/// (long-polling.md 2).
struct PollOutput {
    /// Messages, each with a comma after it; the last one may lack its end.
    private var text: [UInt8] = []
    /// Bytes of those that are complete.
    private var completeCount = 0
    /// Frames that the last message lacks.
    private var framesMissing = 0
    /// Packets so far; the next one has this number.
    private(set) var packetCount = 0

    var byteCount: Int { text.count }
    var hasMessages: Bool { completeCount > 0 }
    /// A message has begun, and its end is not there yet.
    var isIncomplete: Bool { framesMissing > 0 }

    /// Adds frames, whole ones, of which a message may take several.
    mutating func append(_ frames: UnsafeRawBufferPointer) {
        var rest = frames
        while let frame = ServerFrame(rest) {
            if frame.opcode == .text { append(payload: frame.payload) }
            rest = UnsafeRawBufferPointer(rebasing: rest[frame.whole.count...])
        }
    }

    private mutating func append(payload: UnsafeRawBufferPointer) {
        if framesMissing == 0 {
            // A message is an object; a number says how many frames the next one takes (Protocol.md 3.2).
            guard payload.first == UInt8(ascii: "{") else {
                framesMissing = payload.reduce(0) { $0 * 10 + Int($1 & 15) }
                return
            }
            framesMissing = 1
        }
        Self.append(payload, to: &text)
        framesMissing -= 1
        guard framesMissing == 0 else { return }
        text.append(UInt8(ascii: ","))
        completeCount = text.count
    }

    /// JSON as part of a script: `<` could end the script of a page, and U+2028 and U+2029 were line ends before they
    /// were allowed in strings. All three occur only in strings.
    private static func append(_ json: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        var start = 0
        var index = 0
        func isLineEnd() -> Bool {
            index + 2 < json.count && json[index + 1] == 0x80 && json[index + 2] | 1 == 0xA9
        }
        while index < json.count {
            let byte = json[index]
            if byte == UInt8(ascii: "<") {
                out.append(contentsOf: json[start..<index])
                out += "\\u003c".utf8
                index += 1
                start = index
            } else if byte == 0xE2, isLineEnd() {
                out.append(contentsOf: json[start..<index])
                out += "\\u202".utf8
                out.append(json[index + 2] & 1 == 0 ? UInt8(ascii: "8") : UInt8(ascii: "9"))
                index += 3
                start = index
            } else {
                index += 1
            }
        }
        out.append(contentsOf: json[start...])
    }

    /// The call with all messages that are complete, perhaps none.
    mutating func takePacket() -> [UInt8] {
        var packet = Array("pRTLPCB(\(packetCount),[".utf8)
        packetCount += 1
        packet.append(contentsOf: text[..<max(completeCount - 1, 0)])
        packet += "]);\n".utf8
        if completeCount == text.count { text = [] } else { text.removeFirst(completeCount) }
        completeCount = 0
        return packet
    }
}
