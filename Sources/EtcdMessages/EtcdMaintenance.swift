/// Removes all revisions before this one, except the present values. Repeating it fails with
/// ``EtcdError/compacted(oldest:)``, which means that it is done.
package struct EtcdCompact: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.KV/Compact"

    package var revision: Int64

    package init(_ revision: Int64) { self.revision = revision }

    package var isRepeatable: Bool { true }

    private enum Field: UInt32 { case revision = 1 }

    package var message: [UInt8] {
        var message = MessageWriter<Field>()
        message.integer(.revision, revision)
        return message.bytes
    }

    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<EtcdReplyField>) throws(EtcdError) {}
}

/// The state of the member that is asked. Works without a leader.
package struct EtcdStatus: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.Maintenance/Status"

    package init() {}

    package var isRepeatable: Bool { true }
    package var message: [UInt8] { [] }

    package enum ReplyField: UInt32, Sendable { case header = 1, version, fileBytes, leader, errors = 8, usedBytes }

    package struct Reply: Hashable, Sendable {
        package var cluster: UInt64
        package var member: UInt64
        /// Nil if the member knows of no leader.
        package var leader: UInt64?
        package var version: String
        /// Of the store's file.
        package var fileBytes: Int64
        package var usedBytes: Int64
        /// What etcd says is wrong: alarms of any member, and that there is no leader.
        package var errors: [String]

        /// A member has reached its quota, so none takes writes until an operator ends the alarm.
        package var isFull: Bool { errors.contains { $0.contains("alarm:NOSPACE") } }
    }

    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<ReplyField>) throws(EtcdError) -> Reply {
        let leader = try message.unsigned(.leader)
        return Reply(
            cluster: header.cluster, member: header.member, leader: leader == 0 ? nil : leader,
            version: try message.text(.version), fileBytes: try message.integer(.fileBytes),
            usedBytes: try message.natural(.usedBytes), errors: try message.texts(.errors))
    }
}

/// The members of the cluster, as the member that is asked knows them.
package struct EtcdMemberList: EtcdCall, Hashable {
    package static let path: StaticString = "/etcdserverpb.Cluster/MemberList"

    package init() {}

    package var isRepeatable: Bool { true }
    package var message: [UInt8] { [] }

    package enum ReplyField: UInt32, Sendable { case header = 1, members }
    private enum MemberField: UInt32 { case id = 1, name, peerURLs, clientURLs }

    package struct Member: Hashable, Sendable {
        package var id: UInt64
        /// Empty for a member that has not started yet.
        package var name: String
        package var clientURLs: [String]
    }

    package func reply(_ header: EtcdHeader, _ message: ReplyMessage<ReplyField>) throws(EtcdError) -> [Member] {
        try message.messages(.members, MemberField.self).map { (member) throws(EtcdError) in
            Member(
                id: try member.unsigned(.id), name: try member.text(.name),
                clientURLs: try member.texts(.clientURLs))
        }
    }
}
