package import HearthEtcdMessages

/// The format of a cluster and what its nodes read, for operators.
package struct FormatOverview: Hashable, Sendable {
    package var format: StoreFormat
    /// The nodes that run.
    package var nodes: [String: StoreFormat]
    /// Of the key of the format; 0 without it.
    private var revision: Int64

    package static let request = EtcdTransaction(
        then: [
            .range(EtcdRange(.key(StoreFormat.key))), .range(EtcdRange(NodeRecord.folder, keysOnly: true)),
            .range(EtcdRange(StoreFormat.statements)),
        ], isRepeatable: true)

    /// - parameter reply: that to ``request``.
    package init(_ reply: EtcdTransactionReply) {
        let format = reply.values(0).first
        (self.format, revision) = (StoreFormat(format), format?.modRevision ?? 0)
        nodes = [:]
        for node in reply.values(1) { nodes[NodeRecord.name(of: node.key)] = .plain }
        for statement in reply.values(2) {
            let node = String(decoding: statement.key.dropFirst(StoreFormat.statements.start.count), as: UTF8.self)
            if nodes[node] != nil { nodes[node] = StoreFormat(statement) }
        }
    }

    /// The latest format that all nodes read; nil if none runs.
    package var possible: StoreFormat? { nodes.values.min() }

    /// Raises the format, unless it has changed meanwhile.
    package func raising(to format: StoreFormat) -> EtcdTransaction {
        EtcdTransaction(
            if: [.init(StoreFormat.key, .equal, .modRevision(revision))],
            then: [.put(key: StoreFormat.key, value: [format.rawValue])], isRepeatable: true)
    }
}
