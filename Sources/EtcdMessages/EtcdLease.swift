package import HearthJSONValues

/// Begins a lease. The caller chooses its number, so that a call of unknown outcome can be repeated: if the lease
/// exists then (``EtcdError/leaseExists``), it is the caller's.
package struct EtcdGrantLease: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/lease/grant"

    package var lease: Int64
    package var seconds: Int64

    /// - precondition: `lease` is not 0, with which etcd would choose a number.
    package init(_ lease: Int64, seconds: Int64) {
        precondition(lease != 0)
        self.lease = lease
        self.seconds = seconds
    }

    package var isRepeatable: Bool { true }

    package var body: [UInt8] {
        var body = RequestBody(into: [])
        body.open()
        body.field("ID", lease)
        body.field("TTL", seconds)
        body.close()
        return body.bytes
    }

    /// Answers the seconds that the lease has, which may be more than were asked for: at least 1.5 election timeouts.
    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> Int64 {
        let members = ReplyObject(members)
        guard try members.integer("ID") == lease else { throw .malformedReply("another lease was granted") }
        return try members.integer("TTL")
    }
}

/// Begins the seconds of a lease again.
package struct EtcdKeepLeaseAlive: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/lease/keepalive"

    package var lease: Int64

    package init(_ lease: Int64) { self.lease = lease }

    package var isRepeatable: Bool { true }
    package var body: [UInt8] { leaseBody(lease) }

    /// Answers the seconds that are left. A lease that has ended is ``EtcdError/leaseNotFound``, though etcd
    /// answers it with HTTP status 200.
    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> Int64 {
        let members = ReplyObject(members)
        guard try members.integer("ID") == lease else { throw .malformedReply("another lease was renewed") }
        let seconds = try members.integer("TTL")
        guard seconds > 0 else { throw .leaseNotFound }
        return seconds
    }
}

/// Ends a lease; its keys are deleted at once.
package struct EtcdRevokeLease: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/lease/revoke"

    package var lease: Int64

    package init(_ lease: Int64) { self.lease = lease }

    package var isRepeatable: Bool { true }
    package var body: [UInt8] { leaseBody(lease) }

    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) {}
}

private func leaseBody(_ lease: Int64) -> [UInt8] {
    var body = RequestBody(into: [])
    body.open()
    body.field("ID", lease)
    body.close()
    return body.bytes
}
