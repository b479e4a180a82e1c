package import HearthEtcdMessages

/// The format of a cluster, and what its nodes read.
package struct FormatOverview: Hashable, Sendable {
    package var format: StoreFormat
    /// The nodes that run.
    package var nodes: [String: StoreFormat]
    private var hasDatabases: Bool
    /// Of the key of the format; 0 without it.
    private var formatRevision: Int64
    /// Of the store, when it was read.
    private var revision: Int64

    package static let request = EtcdTransaction(
        then: [
            .range(EtcdRange(.key(StoreFormat.key))), .range(EtcdRange(NodeRecord.folder, keysOnly: true)),
            .range(EtcdRange(StoreFormat.statements)), .range(EtcdRange(LogKeys.databases, limit: 1, keysOnly: true)),
        ], isRepeatable: true)

    /// - parameter reply: that to ``request``.
    package init(_ reply: EtcdTransactionReply) {
        let format = reply.values(0).first
        (self.format, formatRevision) = (StoreFormat(format), format?.modRevision ?? 0)
        (hasDatabases, revision) = (!reply.values(3).isEmpty, reply.revision)
        nodes = [:]
        for node in reply.values(1) { nodes[NodeRecord.name(of: node.key)] = .plain }
        for statement in reply.values(2) {
            let node = String(decoding: statement.key.dropFirst(StoreFormat.statements.start.count), as: UTF8.self)
            if nodes[node] != nil { nodes[node] = StoreFormat(statement) }
        }
    }

    /// The latest format that all nodes read; nil if none runs.
    package var possible: StoreFormat? { nodes.values.min() }

    /// Gives the latest format to a cluster that has neither a format nor a database; nil for any other one, and while
    /// a node runs that does not read it. Without success something has changed meanwhile.
    package var beginning: EtcdTransaction? {
        guard formatRevision == 0, !hasDatabases, possible ?? .latest >= .latest else { return nil }
        return raising(to: .latest, if: [.isEmpty(LogKeys.databases)])
    }

    /// Raises the format, unless it or the nodes have changed meanwhile.
    package func raising(to format: StoreFormat) -> EtcdTransaction { raising(to: format, if: []) }

    private func raising(to format: StoreFormat, if comparisons: [EtcdTransaction.Comparison]) -> EtcdTransaction {
        EtcdTransaction(
            if: comparisons + [
                .init(StoreFormat.key, .equal, .modRevision(formatRevision)),
                .isUnwritten(NodeRecord.folder, since: revision),
            ], then: [.put(key: StoreFormat.key, value: [format.rawValue])], isRepeatable: true)
    }
}
