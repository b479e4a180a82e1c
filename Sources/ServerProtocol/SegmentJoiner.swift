import HearthBytes
package import HearthWireProtocol

/// Joins the segments of a client's packets, in any order of arrival by long polling (long-polling.md 2): each is a
/// slice of the Base64 text of a message.
package struct SegmentJoiner: Sendable {
    private struct Segment {
        /// Segments of the packet that it belongs to.
        let count: Int
        let text: [UInt8]
    }

    /// About the memory of a segment besides its text.
    private static let overhead = 64

    /// Those that are not joined yet, by number.
    private var waiting: [Int: Segment] = [:]
    private var next = 0
    /// The text of the packet under way, and the segments that it lacks.
    private var packet: [UInt8] = []
    private var missing = 0
    private let bytesMax: Int
    /// Memory of all that waits to become a message.
    package private(set) var byteCount = 0

    /// - parameter bytesMax: the limit of waiting Base64 text, in bytes.
    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Adds a segment; a repeated one is ignored. False if the segments violate the protocol, or are too many.
    package mutating func add(_ number: Int, of count: Int, _ text: ArraySlice<UInt8>) -> Bool {
        guard number >= 0, count > 0 else { return false }
        guard number >= next, waiting[number] == nil else { return true }
        byteCount += text.count + Self.overhead
        guard byteCount <= bytesMax else { return false }
        waiting[number] = Segment(count: count, text: Array(text))
        return true
    }

    /// The text of the next message that is complete.
    package mutating func nextMessage() throws(MessageError) -> [UInt8]? {
        while let segment = waiting.removeValue(forKey: next) {
            next += 1
            if missing == 0 { missing = segment.count }
            missing -= 1
            packet.append(contentsOf: segment.text)
            byteCount -= Self.overhead
            guard missing == 0 else { continue }
            defer {
                byteCount -= packet.count
                packet = []
            }
            guard let message = Self.decode(packet) else {
                throw MessageError(reason: "a packet is not Base64 with the alphabet for URLs")
            }
            return message
        }
        return nil
    }

    /// Padded with `.` (Protocol.md 2), or not at all; nil for text that is not Base64.
    private static func decode(_ packet: [UInt8]) -> [UInt8]? {
        let padding = packet.suffix(2).reversed().prefix { $0 == UInt8(ascii: ".") }.count
        return Base64.url.decode(packet.dropLast(padding))
    }
}
