/// The messages that wait to be polled, turned into calls of a script (long-polling.md 2).
struct PollOutput {
    /// Messages, each with a comma after it; the last one may lack its end.
    private var text: [UInt8] = []
    /// Bytes of those that are complete.
    private var completeCount = 0
    /// A message has begun, and its end is not there yet.
    private(set) var isIncomplete = false
    /// Packets so far; the next one has this number.
    private(set) var packetCount = 0

    var byteCount: Int { text.count }
    var hasMessages: Bool { completeCount > 0 }

    /// Adds a message, or a part of one. No part ends inside a character.
    mutating func append(_ json: UnsafeRawBufferPointer) {
        isIncomplete = true
        Self.append(json, to: &text)
    }

    /// The message is complete.
    mutating func endMessage() {
        isIncomplete = false
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
