import Glibc

/// The form of every answer to a kind of request, but for its ten-digit request number, if it has one.
package struct ReplyShape {
    private let digits: Int
    private let head: [UInt8]
    private let tail: [UInt8]
    /// A floor answers with as many bytes, but with no content.
    private let hasContent: Bool

    /// `data` is the JSON text that the answer carries.
    package init(data: String, hasContent: Bool) {
        head = Array(#"{"t":"d","d":{"r":"#.utf8)
        tail = Array(#","b":{"s":"ok","d":\#(data)}}}"#.utf8)
        self.hasContent = hasContent
        digits = 10
    }

    /// An answer with this text and no number.
    package init(text: String) {
        head = Array(text.utf8)
        tail = []
        hasContent = true
        digits = 0
    }

    /// Bytes of the answer.
    package var size: Int { head.count + digits + tail.count }

    /// Whether the payload answers request `number` with success.
    @inline(__always)
    package func matches(_ payload: UnsafeRawBufferPointer, number: Int) -> Bool {
        guard payload.count == size, let bytes = payload.baseAddress else { return false }
        guard hasContent else { return true }
        var found = 0
        for place in head.count..<head.count + digits { found = found &* 10 &+ Int(payload[place] &- 0x30) }
        return (digits == 0 || found == number)
            && head.withUnsafeBufferPointer { memcmp($0.baseAddress!, bytes, $0.count) == 0 }
            && tail.withUnsafeBufferPointer { memcmp($0.baseAddress!, bytes + payload.count - $0.count, $0.count) == 0 }
    }
}
