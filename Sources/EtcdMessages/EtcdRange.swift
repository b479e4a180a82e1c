/// Reads keys in bytewise order.
package struct EtcdRange: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.KV/Range"

    package var keys: EtcdKeyRange
    /// At most so many keys; 0 for all.
    package var limit: Int64
    package var isDescending: Bool
    /// Without the values.
    package var keysOnly: Bool
    /// From the memory of the member that is asked, which may be old. Works without a leader.
    package var isSerializable: Bool

    package init(
        _ keys: EtcdKeyRange, limit: Int64 = 0, isDescending: Bool = false, keysOnly: Bool = false,
        isSerializable: Bool = false
    ) {
        self.keys = keys
        self.limit = limit
        self.isDescending = isDescending
        self.keysOnly = keysOnly
        self.isSerializable = isSerializable
    }

    package var isRepeatable: Bool { true }

    enum Field: UInt32 { case key = 1, end, limit, sortOrder = 5, sortTarget, isSerializable, keysOnly }
    package enum ReplyField: UInt32, Sendable { case header = 1, values, hasMore }

    package var message: [UInt8] {
        var message = MessageWriter<Field>()
        write(to: &message)
        return message.bytes
    }

    func write(to message: inout MessageWriter<Field>) {
        message.bytes(.key, keys.start)
        if let end = keys.end { message.bytes(.end, end) }
        if limit > 0 { message.integer(.limit, limit) }
        if isDescending {
            // DESCEND, by KEY.
            message.integer(.sortOrder, 2)
            message.integer(.sortTarget, 0)
        }
        message.flag(.isSerializable, isSerializable)
        message.flag(.keysOnly, keysOnly)
    }

    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<ReplyField>) throws(EtcdError) -> EtcdRangeReply {
        try EtcdRangeReply(message, header)
    }
}

package struct EtcdRangeReply: Hashable, Sendable {
    /// Of the store when it was read.
    package var revision: Int64
    package var values: [EtcdKeyValue]
    /// There are more keys in the range than the limit.
    package var hasMore: Bool

    package init(revision: Int64, values: [EtcdKeyValue], hasMore: Bool) {
        self.revision = revision
        self.values = values
        self.hasMore = hasMore
    }

    init(_ message: ReplyMessage<EtcdRange.ReplyField>, _ header: EtcdHeader) throws(EtcdError) {
        revision = header.revision
        values = try message.messages(.values).map { (value) throws(EtcdError) in try EtcdKeyValue(value) }
        hasMore = try message.flag(.hasMore)
    }
}

/// A key with its value, as it is stored.
package struct EtcdKeyValue: Hashable, Sendable {
    package var key: [UInt8]
    package var value: [UInt8]
    /// The revision that made the key. It differs from all others that the key ever has.
    package var createRevision: Int64
    /// The revision that wrote the value.
    package var modRevision: Int64
    /// 0 for a key that has no lease.
    package var lease: Int64

    package init(key: [UInt8], value: [UInt8], createRevision: Int64, modRevision: Int64, lease: Int64 = 0) {
        self.key = key
        self.value = value
        self.createRevision = createRevision
        self.modRevision = modRevision
        self.lease = lease
    }

    enum Field: UInt32 { case key = 1, createRevision, modRevision, version, value, lease }

    init(_ message: ReplyMessage<Field>) throws(EtcdError) {
        key = try message.bytes(.key)
        value = try message.bytes(.value)
        createRevision = try message.natural(.createRevision)
        modRevision = try message.natural(.modRevision)
        lease = try message.integer(.lease)
    }
}
