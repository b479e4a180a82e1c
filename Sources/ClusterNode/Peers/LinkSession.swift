/// One end of a link between two nodes, which lasts longer than a connection: messages arrive once each, in order,
/// although connections break.
///
/// Messages are numbered from 1 on. An end keeps those that the other one has not acknowledged, and sends them again
/// over the next connection. A pure value.
package struct LinkSession {
    package enum Violation: Error, Hashable {
        /// The other end has messages that were never sent, or lacks some that it has acknowledged.
        case impossibleCount
        /// A frame is cut short, or does not follow the one before.
        case malformedFrame
    }

    /// ```
    /// frame = acknowledged:8 first:8 (size:4 message)…          `first` is the number of the first message
    /// ```
    private static let headSize = 16
    /// A frame ends with the message with which it reaches so many bytes.
    static let frameBytes = 64 << 10

    /// The last message that the other end is known to have.
    package private(set) var acknowledged: UInt64 = 0
    /// The messages after that one, in order.
    private var kept: [[UInt8]] = []
    /// The bytes of `kept`.
    package private(set) var keptBytes = 0
    /// How many of `kept` were sent over the present connection.
    private var sentCount = 0
    /// The last message that was sent over any connection: the other end may have it.
    package private(set) var lastSent: UInt64 = 0
    /// The last message that has arrived.
    package private(set) var received: UInt64 = 0
    /// The last one that the other end was told of.
    private var told: UInt64 = 0

    package init() {}

    /// - returns: the number of the message.
    @discardableResult
    package mutating func send(_ message: [UInt8]) -> UInt64 {
        kept.append(message)
        keptBytes += message.count
        return acknowledged + UInt64(kept.count)
    }

    /// A new connection begins. Messages that the other end has not received are sent over it.
    package mutating func connect(otherHas count: UInt64) throws(Violation) {
        try acknowledge(count)
        sentCount = 0
        told = 0
    }

    private mutating func acknowledge(_ count: UInt64) throws(Violation) {
        guard count >= acknowledged, count - acknowledged <= UInt64(kept.count) else { throw .impossibleCount }
        let new = Int(count - acknowledged)
        if new == 0 { return }
        keptBytes -= kept[..<new].reduce(0) { $0 + $1.count }
        kept.removeFirst(new)
        sentCount = max(0, sentCount - new)
        acknowledged = count
    }

    /// The next frame; nil if there is nothing to send.
    ///
    /// - parameters:
    ///   - headSize: so many bytes come before the frame, for the caller to set.
    ///   - isForced: a frame without messages will do.
    package mutating func takeFrame(after headSize: Int = 0, isForced: Bool = false) -> [UInt8]? {
        guard sentCount < kept.count || isForced else { return nil }
        var frame: [UInt8] = []
        frame.reserveCapacity(headSize + nextFrameSize)
        frame.append(contentsOf: repeatElement(0, count: headSize))
        Self.append(received, to: &frame)
        Self.append(acknowledged + UInt64(sentCount) + 1, to: &frame)
        while sentCount < kept.count, frame.count - headSize < Self.frameBytes {
            Self.append(UInt32(kept[sentCount].count), to: &frame)
            frame += kept[sentCount]
            sentCount += 1
        }
        told = received
        lastSent = max(lastSent, acknowledged + UInt64(sentCount))
        return frame
    }

    private var nextFrameSize: Int {
        var size = Self.headSize
        for message in kept[sentCount...] where size < Self.frameBytes { size += 4 + message.count }
        return size
    }

    /// Messages have arrived of which the other end does not know that.
    var owesAcknowledgement: Bool { told < received }

    /// - returns: the messages of a frame, in order.
    package mutating func receive(_ frame: ArraySlice<UInt8>) throws(Violation) -> [ArraySlice<UInt8>] {
        var rest = frame
        guard let count = Self.read(UInt64.self, &rest), let first = Self.read(UInt64.self, &rest) else {
            throw .malformedFrame
        }
        try acknowledge(count)
        var messages: [ArraySlice<UInt8>] = []
        guard rest.isEmpty || first == received + 1 else { throw .malformedFrame }
        while !rest.isEmpty {
            guard let size = Self.read(UInt32.self, &rest), Int(size) <= rest.count else { throw .malformedFrame }
            messages.append(rest.prefix(Int(size)))
            rest = rest.dropFirst(Int(size))
            received += 1
        }
        return messages
    }

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func read<Value: FixedWidthInteger>(_: Value.Type, _ bytes: inout ArraySlice<UInt8>) -> Value? {
        let size = MemoryLayout<Value>.size
        guard bytes.count >= size else { return nil }
        defer { bytes = bytes.dropFirst(size) }
        return bytes.prefix(size).reduce(0) { $0 << 8 | Value($1) }
    }
}
