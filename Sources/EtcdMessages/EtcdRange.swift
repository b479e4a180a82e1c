package import HearthJSONValues

/// Reads keys in bytewise order.
package struct EtcdRange: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/kv/range"

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

    package var body: [UInt8] {
        var body = RequestBody(into: [])
        body.open()
        append(to: &body)
        body.close()
        return body.bytes
    }

    func append(to body: inout RequestBody) {
        body.range(keys)
        if limit > 0 { body.field("limit", limit) }
        if isDescending {
            body.field("sort_order", word: "DESCEND")
            body.field("sort_target", word: "KEY")
        }
        if keysOnly { body.field("keys_only", true) }
        if isSerializable { body.field("serializable", true) }
    }

    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> EtcdRangeReply {
        try EtcdRangeReply(ReplyObject(members), header)
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

    init(_ members: ReplyObject, _ header: EtcdHeader) throws(EtcdError) {
        revision = header.revision
        values = try members.objects("kvs").map { (member) throws(EtcdError) in try EtcdKeyValue(member) }
        hasMore = try members.flag("more")
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

    init(_ members: ReplyObject) throws(EtcdError) {
        key = try members.bytes("key")
        value = try members.bytes("value")
        createRevision = try members.integer("create_revision")
        modRevision = try members.integer("mod_revision")
        lease = try members.integer("lease")
    }
}
