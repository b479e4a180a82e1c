import HearthJSONTree
import HearthWebSocketCodec
import HearthWireProtocol
import HearthTreeText

/// An array of frames and events, in which a large value is encoded once, however many messages contain it.
///
/// A value is known by its memory: equal values that were read separately are encoded separately.
struct EncodedOutput {
    /// Values of fewer bytes are encoded for each message: they fit in one frame.
    static let sharedBytesMin = MessageChunks.unitsMax

    /// Where a message is in the array.
    enum Place {
        case whole(Range<Int>)
        /// Around a value that was encoded before.
        case around(head: Range<Int>, value: Range<Int>, tail: Range<Int>)
    }

    private(set) var bytes: [UInt8] = []
    private var message: [UInt8] = []
    private var values: [Key: Encoded] = [:]

    private enum Form {
        /// The chunks of a message, each in a frame.
        case frames
        /// Text of an event.
        case event
    }

    private struct Key: Hashable {
        let address: Int
        let form: Form

        init(of value: CanonicalJSON, _ form: Form) {
            address = value.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
            self.form = form
        }
    }

    private struct Encoded {
        let range: Range<Int>
        let frameCount: Int
        /// Keeps the address from being used again.
        let value: CanonicalJSON
    }

    var count: Int { bytes.count }

    // MARK: Messages in frames

    /// Adds a message.
    mutating func frame(_ write: (inout [UInt8]) -> Void) -> Range<Int> {
        let start = bytes.count
        message.removeAll(keepingCapacity: true)
        write(&message)
        Self.append(message, to: &bytes)
        return start..<bytes.count
    }

    private static func append(_ message: borrowing [UInt8], to bytes: inout [UInt8]) {
        RealtimeFrames.append(message.span, to: &bytes)
    }

    /// Adds a message that consists of a head, a value and a tail. The frames of a large value hold nothing else, so
    /// that other messages can share them.
    mutating func frame(
        _ value: CanonicalJSON, head: (inout [UInt8]) -> Void, tail: (inout [UInt8]) -> Void
    ) -> Place {
        guard value.bytes.count > Self.sharedBytesMin else {
            return .whole(
                frame { out in
                    head(&out)
                    out.append(contentsOf: value.bytes)
                    tail(&out)
                })
        }
        let start = bytes.count
        var (before, after): ([UInt8], [UInt8]) = ([], [])
        head(&before)
        tail(&after)
        let key = Key(of: value, .frames)
        let known = values[key]
        let chunks = known == nil ? Self.chunks(of: value.bytes) : []
        let (heads, tails) = (Self.chunks(of: before), Self.chunks(of: after))
        let count = heads.count + (known?.frameCount ?? chunks.count) + tails.count
        FrameEncoder.append(.text, Array(String(count).utf8).span.bytes, to: &bytes)
        append(heads, of: before)
        let middle = bytes.count
        if known == nil {
            append(chunks, of: value.bytes)
            values[key] = Encoded(range: middle..<bytes.count, frameCount: chunks.count, value: value)
        }
        append(tails, of: after)
        guard let known else { return .whole(start..<bytes.count) }
        return .around(head: start..<middle, value: known.range, tail: middle..<bytes.count)
    }

    private static func chunks(of text: [UInt8]) -> [Range<Int>] { text.withUnsafeBytes(MessageChunks.ranges) }

    private mutating func append(_ chunks: [Range<Int>], of text: [UInt8]) {
        for chunk in chunks { FrameEncoder.append(.text, text.span.extracting(chunk).bytes, to: &bytes) }
    }

    // MARK: Events

    /// Adds text of event streams.
    mutating func event(_ write: (inout [UInt8]) -> Void) -> Range<Int> {
        let start = bytes.count
        write(&bytes)
        return start..<bytes.count
    }

    /// Adds an event that consists of a head, a value and a tail.
    mutating func event(
        _ value: CanonicalJSON, head: (inout [UInt8]) -> Void, tail: (inout [UInt8]) -> Void
    ) -> Place {
        let isShared = value.bytes.count > Self.sharedBytesMin
        let known = isShared ? values[Key(of: value, .event)] : nil
        let start = bytes.count
        head(&bytes)
        let middle = bytes.count
        if known == nil { JSONOutput.plain.append(value, to: &bytes) }
        if isShared, known == nil {
            values[Key(of: value, .event)] = Encoded(range: middle..<bytes.count, frameCount: 0, value: value)
        }
        tail(&bytes)
        guard let known else { return .whole(start..<bytes.count) }
        return .around(head: start..<middle, value: known.range, tail: middle..<bytes.count)
    }
}
