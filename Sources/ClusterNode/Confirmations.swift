import HearthEtcdGateway
import HearthEtcdMessages
import HearthJSONWebTokens
import HearthReplicatedLog

/// How far nodes have put in force what the cluster's own database says: `/hearth/1/confirmed/NODE`, the sequence
/// number of an operation, which ends with the lease of the node.
enum Confirmations {
    private static let folder = EtcdKeyRange.prefix(Array("/hearth/1/confirmed/".utf8))
    private static let callDuration = Duration.seconds(2)

    static func put(_ sequence: UInt64, of node: String, lease: Int64) -> EtcdPut {
        EtcdPut(key: folder.start + node.utf8, value: Array("\(sequence)".utf8), lease: lease)
    }

    /// The nodes that run and have not confirmed an operation, sorted. Waits.
    static func missing(_ sequence: UInt64, _ cluster: EtcdCluster) throws(EtcdError) -> [String] {
        let question = EtcdTransaction(
            then: [.range(EtcdRange(NodeRecord.folder, keysOnly: true)), .range(EtcdRange(folder))], isRepeatable: true)
        let reply = try EtcdClient(cluster).call(question, within: callDuration)
        let nodes = reply.values(0).map { NodeRecord.name(of: $0.key) }
        let confirmed = reply.values(1).filter { value in
            (UInt64(String(decoding: value.value, as: UTF8.self)) ?? 0) >= sequence
        }
        let names = Set(confirmed.map { String(decoding: $0.key.dropFirst(folder.start.count), as: UTF8.self) })
        return nodes.filter { !names.contains($0) }.sorted()
    }
}

extension ClusterNode {
    /// Tells the other nodes that this one has put in force what the cluster's own database says up to an operation.
    package func confirm(_ sequence: UInt64) { setConfirmed(sequence) }

    /// The nodes that run and have not put in force what an operation of the cluster's own database says, sorted. Waits
    /// for etcd. Nil if that does not answer.
    package func unconfirmed(_ sequence: UInt64) -> [String]? { try? Confirmations.missing(sequence, cluster) }

    /// A text that only nodes can read; nil without a secret.
    package func seal(_ text: [UInt8]) -> [UInt8]? {
        peers.flatMap { try? Cryptography.seal(text, key: $0.secret.sealingKey) }
    }

    /// Nil if nodes with another secret have sealed it.
    package func open(sealed text: [UInt8]) -> [UInt8]? {
        peers.flatMap { (try? Cryptography.open(sealed: text, key: $0.secret.sealingKey)) ?? nil }
    }
}
