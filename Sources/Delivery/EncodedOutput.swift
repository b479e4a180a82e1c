import HearthJSONTree
import HearthTreeText

/// Messages, and the text of event streams, in which a large value is encoded once, however many events contain it.
///
/// A value is known by its memory: equal values that were read separately are encoded separately.
struct EncodedOutput {
    /// Values of fewer bytes are encoded for each event.
    static let sharedBytesMin = 16 << 10

    /// Where an event is in the text.
    enum Place {
        case whole(Range<Int>)
        /// Around a value that was encoded before.
        case around(head: Range<Int>, value: Range<Int>, tail: Range<Int>)
    }

    var messages = MessageList()
    /// Text of event streams.
    private(set) var events: [UInt8] = []
    private var values: [Int: Encoded] = [:]

    private struct Encoded {
        let range: Range<Int>
        /// Keeps the address from being used again.
        let value: CanonicalJSON
    }

    var byteCount: Int { messages.byteCount + events.count }

    /// Adds text of event streams.
    mutating func event(_ write: (inout [UInt8]) -> Void) -> Range<Int> {
        let start = events.count
        write(&events)
        return start..<events.count
    }

    /// Adds an event that consists of a head, a value and a tail.
    mutating func event(
        _ value: CanonicalJSON, head: (inout [UInt8]) -> Void, tail: (inout [UInt8]) -> Void
    ) -> Place {
        let isShared = value.bytes.count > Self.sharedBytesMin
        let address = isShared ? value.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) } : 0
        let known = isShared ? values[address] : nil
        let start = events.count
        head(&events)
        let middle = events.count
        if known == nil { JSONOutput.plain.append(value, to: &events) }
        if isShared, known == nil { values[address] = Encoded(range: middle..<events.count, value: value) }
        tail(&events)
        guard let known else { return .whole(start..<events.count) }
        return .around(head: start..<middle, value: known.range, tail: middle..<events.count)
    }
}

extension EncodedOutput.Place {
    func forEachRange(_ body: (Range<Int>) -> Void) {
        switch self {
        case .whole(let range): body(range)
        case .around(let head, let value, let tail):
            body(head)
            body(value)
            body(tail)
        }
    }
}
