import HearthEtcdGateway
import HearthEtcdMessages
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
