package import HearthJSONTree
import HearthRealtimeDatabase

/// Messages of the realtime protocol, one after the other. Transports put them into their form.
///
/// A large value is not copied: the messages that contain it refer to it.
package struct MessageList: Sendable {
    package struct Message: Sendable {
        /// The place of its text in ``MessageList/text``: all of it, or all but a large value.
        package let text: Range<Int>
        package let large: LargeValue?
    }

    /// A value inside a message.
    package struct LargeValue: Sendable {
        /// Where it belongs in the text.
        package let place: Int
        /// Its number in ``MessageList/values``.
        package let number: Int
    }

    /// Values up to this size are copied into each message.
    static let copiedBytesMax = Database.answeredAtOnceBytesMax

    package private(set) var text: [UInt8] = []
    package private(set) var messages: [Message] = []
    package private(set) var values: [CanonicalJSON] = []
    /// Bytes of all this, each large value counted once.
    package private(set) var byteCount = 0
    /// The numbers of large values, by the addresses of their bytes: equal values that were read separately count as
    /// several.
    private var numbers: [Int: Int] = [:]

    package init() {}

    /// One message.
    package init(_ message: [UInt8]) {
        text = message
        messages = [Message(text: 0..<message.count, large: nil)]
        byteCount = message.count
    }

    package var isEmpty: Bool { messages.isEmpty }

    /// Adds a message, and returns its place in ``messages``.
    mutating func append(_ write: (inout [UInt8]) -> Void) -> Range<Int> {
        let start = text.count
        write(&text)
        return appended(from: start, nil)
    }

    /// Adds a message that consists of a head, a value and a tail.
    mutating func append(
        _ value: CanonicalJSON, head: (inout [UInt8]) -> Void, tail: (inout [UInt8]) -> Void
    ) -> Range<Int> {
        let start = text.count
        head(&text)
        var large: LargeValue?
        if value.bytes.count > Self.copiedBytesMax {
            large = LargeValue(place: text.count, number: number(of: value))
        } else {
            value.bytes.withUnsafeBytes { text.append(contentsOf: $0) }
        }
        tail(&text)
        return appended(from: start, large)
    }

    private mutating func appended(from start: Int, _ large: LargeValue?) -> Range<Int> {
        messages.append(Message(text: start..<text.count, large: large))
        byteCount += text.count - start
        return messages.count - 1..<messages.count
    }

    private mutating func number(of value: CanonicalJSON) -> Int {
        // It is not used for other bytes as long as `values` has these.
        let address = value.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
        if let number = numbers[address] { return number }
        numbers[address] = values.count
        values.append(value)
        byteCount += value.bytes.count
        return values.count - 1
    }

    /// Calls `body` with the bytes of a message, in one piece or, around and with a large value, in three.
    package func forEachPart(of message: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        let (range, large) = (messages[message].text, messages[message].large)
        text.withUnsafeBytes { text in
            guard let large else { return body(UnsafeRawBufferPointer(rebasing: text[range])) }
            body(UnsafeRawBufferPointer(rebasing: text[range.lowerBound..<large.place]))
            values[large.number].bytes.withUnsafeBytes(body)
            body(UnsafeRawBufferPointer(rebasing: text[large.place..<range.upperBound]))
        }
    }

    /// A copy of a message.
    package func bytes(of message: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        forEachPart(of: message) { bytes.append(contentsOf: $0) }
        return bytes
    }
}
