/// Begins a lease. The caller chooses its number, so that a call of unknown outcome can be repeated: if the lease
/// exists then (``EtcdError/leaseExists``), it is the caller's.
package struct EtcdGrantLease: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.Lease/LeaseGrant"

    package var lease: Int64
    package var seconds: Int64

    /// - precondition: `lease` is not 0, with which etcd would choose a number.
    package init(_ lease: Int64, seconds: Int64) {
        precondition(lease != 0)
        self.lease = lease
        self.seconds = seconds
    }

    package var isRepeatable: Bool { true }

    private enum Field: UInt32 { case seconds = 1, lease }

    package var message: [UInt8] {
        var message = MessageWriter<Field>()
        message.integer(.seconds, seconds)
        message.integer(.lease, lease)
        return message.bytes
    }

    /// Answers the seconds that the lease has, which may be more than were asked for: at least 1.5 election timeouts.
    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<EtcdLeaseReplyField>) throws(EtcdError) -> Int64 {
        guard try message.integer(.lease) == lease else { throw .malformedReply("another lease was granted") }
        return try message.natural(.seconds)
    }
}

/// Begins the seconds of a lease again.
package struct EtcdKeepLeaseAlive: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.Lease/LeaseKeepAlive"

    package var lease: Int64

    package init(_ lease: Int64) { self.lease = lease }

    package var isRepeatable: Bool { true }
    package var message: [UInt8] { leaseMessage(lease) }

    /// Answers the seconds that are left. A lease that has ended is ``EtcdError/leaseNotFound``, though etcd does not
    /// answer with an error.
    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<EtcdLeaseReplyField>) throws(EtcdError) -> Int64 {
        guard try message.integer(.lease) == lease else { throw .malformedReply("another lease was renewed") }
        let seconds = try message.integer(.seconds)
        guard seconds > 0 else { throw .leaseNotFound }
        return seconds
    }
}

/// Ends a lease; its keys are deleted at once.
package struct EtcdRevokeLease: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.Lease/LeaseRevoke"

    package var lease: Int64

    package init(_ lease: Int64) { self.lease = lease }

    package var isRepeatable: Bool { true }
    package var message: [UInt8] { leaseMessage(lease) }

    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<EtcdLeaseReplyField>) throws(EtcdError) {}
}

package enum EtcdLeaseReplyField: UInt32, Sendable { case header = 1, lease, seconds }

private enum LeaseField: UInt32 { case lease = 1 }

private func leaseMessage(_ lease: Int64) -> [UInt8] {
    var message = MessageWriter<LeaseField>()
    message.integer(.lease, lease)
    return message.bytes
}
