package import HearthEtcdMessages

/// The nodes that a node has not reached for some seconds: the value of `/hearth/1/unreached/NODE`, which ends with the
/// lease of that node. Nothing is there while it reaches all that run.
///
/// ```
/// unreached = version:1 name ("," name)…
/// ```
/// Nodes that reach each other agree in this way that another one is cut off, though etcd still hears of it. It then
/// gives up the logs that it owns, since nobody else can have writes made there.
package struct UnreachedNodes: Hashable, Sendable {
    package var names: Set<String>

    package init(names: Set<String> = []) { self.names = names }

    private static let version: UInt8 = 1

    package static let folder = EtcdKeyRange.prefix(Array("/hearth/1/unreached/".utf8))

    private static func key(of node: String) -> [UInt8] { folder.start + node.utf8 }

    /// The statements in the folder, by the names of the nodes that make them. Those of unknown versions are left out.
    package static func statements(in values: [EtcdKeyValue]) -> [String: UnreachedNodes] {
        Dictionary(
            values.compactMap { value in
                let name = String(decoding: value.key.dropFirst(folder.start.count), as: UTF8.self)
                return UnreachedNodes(value.value).map { (name, $0) }
            }, uniquingKeysWith: { first, _ in first })
    }

    package var bytes: [UInt8] { [Self.version] + names.sorted().joined(separator: ",").utf8 }

    /// Nil if the bytes are not of a version that is known.
    package init?(_ bytes: [UInt8]) {
        guard bytes.first == Self.version, let text = String(validating: bytes.dropFirst(), as: UTF8.self) else {
            return nil
        }
        names = Set(text.split(separator: ",").map(String.init))
    }

    /// States what a node does not reach.
    package func statement(of node: String, lease: Int64) -> EtcdTransaction {
        let key = Self.key(of: node)
        return EtcdTransaction(
            then: [names.isEmpty ? .delete(.key(key)) : .put(key: key, value: bytes, lease: lease)],
            isRepeatable: true)
    }

    /// The nodes that more than half of all nodes do not reach. Only nodes that reach more than half, with themselves,
    /// are counted: so there is always a node that is not cut off.
    ///
    /// - parameter nodes: those that run.
    /// - parameter statements: of some of them.
    package static func cutOff(_ nodes: Set<String>, _ statements: [String: UnreachedNodes]) -> Set<String> {
        var counts: [String: Int] = [:]
        for (node, statement) in statements where nodes.contains(node) {
            let unreached = statement.names.intersection(nodes).subtracting([node])
            guard 2 * (nodes.count - unreached.count) > nodes.count else { continue }
            for name in unreached { counts[name, default: 0] += 1 }
        }
        return Set(counts.filter { 2 * $0.value > nodes.count }.keys)
    }
}
