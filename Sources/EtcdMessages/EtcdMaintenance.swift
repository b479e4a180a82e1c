package import HearthJSONValues

/// Removes all revisions before this one, except the present values. Repeating it fails with
/// ``EtcdError/compacted(oldest:)``, which means that it is done.
package struct EtcdCompact: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/kv/compaction"

    package var revision: Int64

    package init(_ revision: Int64) { self.revision = revision }

    package var isRepeatable: Bool { true }

    package var body: [UInt8] {
        var body = RequestBody(into: [])
        body.open()
        body.field("revision", revision)
        body.close()
        return body.bytes
    }

    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) {}
}

/// The state of the member that is asked. Works without a leader.
package struct EtcdStatus: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/maintenance/status"

    package init() {}

    package var isRepeatable: Bool { true }
    package var body: [UInt8] { Array("{}".utf8) }

    package struct Reply: Hashable, Sendable {
        package var cluster: UInt64
        package var member: UInt64
        /// Nil if the member knows of no leader.
        package var leader: UInt64?
        package var version: String
        /// Of the store's file.
        package var fileBytes: Int64
        package var usedBytes: Int64
    }

    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> Reply {
        let members = ReplyObject(members)
        let leader = try members.unsigned("leader")
        return Reply(
            cluster: header.cluster, member: header.member, leader: leader == 0 ? nil : leader,
            version: try members.text("version"), fileBytes: try members.integer("dbSize"),
            usedBytes: try members.integer("dbSizeInUse"))
    }
}

/// The members of the cluster, as the member that is asked knows them.
package struct EtcdMemberList: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/cluster/member/list"

    package init() {}

    package var isRepeatable: Bool { true }
    package var body: [UInt8] { Array("{}".utf8) }

    package struct Member: Hashable, Sendable {
        package var id: UInt64
        /// Empty for a member that has not started yet.
        package var name: String
        package var clientURLs: [String]
    }

    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> [Member] {
        try ReplyObject(members).objects("members").map { (member) throws(EtcdError) in
            Member(
                id: try member.unsigned("ID"), name: try member.text("name"),
                clientURLs: try member.texts("clientURLs"))
        }
    }
}
