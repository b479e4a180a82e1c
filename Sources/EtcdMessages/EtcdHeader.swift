/// The field that all replies have, and some have alone.
package enum EtcdReplyField: UInt32, Sendable { case header = 1 }

/// The beginning of each reply.
package struct EtcdHeader: Hashable, Sendable {
    package var cluster: UInt64
    package var member: UInt64
    /// Of the store. That of a write is its own.
    package var revision: Int64
    package var raftTerm: UInt64

    package init(cluster: UInt64 = 0, member: UInt64 = 0, revision: Int64, raftTerm: UInt64 = 0) {
        self.cluster = cluster
        self.member = member
        self.revision = revision
        self.raftTerm = raftTerm
    }

    enum Field: UInt32 { case cluster = 1, member, revision, raftTerm }

    init(_ message: ReplyMessage<Field>) throws(EtcdError) {
        let revision = try message.integer(.revision)
        // There is a revision after it.
        guard (0..<Int64.max).contains(revision) else { throw .malformedReply("revision is not as expected") }
        self.init(
            cluster: try message.unsigned(.cluster), member: try message.unsigned(.member), revision: revision,
            raftTerm: try message.unsigned(.raftTerm))
    }
}

extension ReplyMessage {
    /// The header of a reply.
    func header() throws(EtcdError) -> EtcdHeader {
        guard let header = try named(by: EtcdReplyField.self).message(.header, EtcdHeader.Field.self) else {
            throw .malformedReply("without a header")
        }
        return try EtcdHeader(header)
    }
}
