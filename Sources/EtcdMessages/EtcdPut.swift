/// Writes one key. Not repeatable: somebody else may have written it in between.
package struct EtcdPut: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.KV/Put"

    package var key: [UInt8]
    package var value: [UInt8]
    /// 0 for none.
    package var lease: Int64

    package init(key: [UInt8], value: [UInt8], lease: Int64 = 0) {
        self.key = key
        self.value = value
        self.lease = lease
    }

    package var isRepeatable: Bool { false }

    enum Field: UInt32 { case key = 1, value, lease }

    package var message: [UInt8] {
        var message = MessageWriter<Field>()
        write(to: &message)
        return message.bytes
    }

    func write(to message: inout MessageWriter<Field>) {
        message.bytes(.key, key)
        message.bytes(.value, value)
        if lease != 0 { message.integer(.lease, lease) }
    }

    /// Answers the revision of the write.
    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<EtcdReplyField>) throws(EtcdError) -> Int64 {
        header.revision
    }
}
