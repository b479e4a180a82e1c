package import HearthEtcdMessages

/// Which etcd cluster has the log of a database, where nodes use several. The first one, `home`, says so for all of
/// them. What it says of a database is written before the log begins, and never changes.
///
/// ```
/// /hearth/1/store/NAME       of home: the name of the etcd cluster that has the log
/// /hearth/1/db/NAME/head     of home, if another one has the log: 255, and its name. A program that knows of one etcd
///                            cluster alone cannot read such a head, so it begins no second log.
/// /hearth/1/name             of each etcd cluster: its own name
/// ```
/// A log that began before all this is at home.
package enum StoreDirectory {
    package static let home = "home"

    private static let folder = Array("/hearth/1/store/".utf8)
    private static let pointerVersion: UInt8 = 255

    private static func key(of database: String) -> [UInt8] { folder + database.utf8 }

    // MARK: Looking

    package enum Found: Hashable, Sendable {
        case store(String)
        case nothing
        case damaged
        /// This is not home, but the etcd cluster of this name.
        case otherStore(String)
    }

    /// What home says of itself, for a database of which it knows nothing.
    package struct Home: Hashable, Sendable {
        /// It has the log of the nodes' own database. If not, it is new or has lost everything, and may have forgotten
        /// where logs are.
        package var isInUse: Bool
        /// How many databases each etcd cluster has, as far as that was written down.
        package var counts: [String: Int]
        /// The nodes that run.
        package var nodes: Set<String>

        package init(isInUse: Bool, counts: [String: Int], nodes: Set<String>) {
            (self.isInUse, self.counts, self.nodes) = (isInUse, counts, nodes)
        }
    }

    /// A question for home.
    package static func look(for database: String) -> EtcdTransaction {
        EtcdTransaction(then: entryAndHead(of: database), isRepeatable: true)
    }

    private static func entryAndHead(of database: String) -> [EtcdTransaction.Operation] {
        [key(of: database), LogKeys(database: database).head, nameKey].map { .range(EtcdRange(.key($0))) }
    }

    /// - parameter reply: that to ``look(for:)``, or to an ``enter(_:in:)`` without success, which says nothing if
    ///   nodes miss a log that was at home.
    package static func found(_ reply: EtcdTransactionReply) -> Found {
        if let name = name(in: reply.values(2)), name != home { return .otherStore(name) }
        if let entry = reply.values(0).first {
            return String(validating: entry.value, as: UTF8.self).map { .store($0) } ?? .damaged
        }
        guard let head = reply.values(1).first else { return .nothing }
        if let name = store(ofHead: head.value) { return .store(name) }
        // One that cannot be read is the matter of those that follow the log.
        return .store(home)
    }

    /// A question for home that comes before ``choice(_:_:)``. O(databases).
    ///
    /// - parameter own: the nodes' own database.
    package static func lookAtHome(own: String) -> EtcdTransaction {
        EtcdTransaction(
            then: [
                .range(EtcdRange(.key(LogKeys(database: own).head), keysOnly: true)),
                .range(EtcdRange(.prefix(folder))),
                .range(EtcdRange(NodeRecord.folder, keysOnly: true)),
            ], isRepeatable: true)
    }

    package static func home(_ reply: EtcdTransactionReply) -> Home {
        let names = reply.values(1).map { String(decoding: $0.value, as: UTF8.self) }
        return Home(
            isInUse: !reply.values(0).isEmpty, counts: Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +),
            nodes: Set(reply.values(2).map { NodeRecord.name(of: $0.key) }))
    }

    /// What another etcd cluster says of a database.
    package struct Elsewhere: Hashable, Sendable {
        /// It has the log, or nodes miss one that was there.
        package var hasLog: Bool
        /// The nodes that use it.
        package var nodes: Set<String>
        /// Nil if it has none yet.
        package var name: String?

        package init(hasLog: Bool, nodes: Set<String>, name: String? = nil) {
            (self.hasLog, self.nodes, self.name) = (hasLog, nodes, name)
        }
    }

    /// A question for any other etcd cluster.
    package static func lookElsewhere(for database: String) -> EtcdTransaction {
        let keys = LogKeys(database: database)
        return EtcdTransaction(
            then: [
                .range(EtcdRange(.key(keys.head))), .range(EtcdRange(keys.allFiles, limit: 1, keysOnly: true)),
                .range(EtcdRange(NodeRecord.folder, keysOnly: true)), .range(EtcdRange(.key(nameKey))),
            ], isRepeatable: true)
    }

    package static func elsewhere(_ reply: EtcdTransactionReply) -> Elsewhere {
        let hasHead = reply.values(0).contains { store(ofHead: $0.value) == nil }
        return Elsewhere(
            hasLog: hasHead || !reply.values(1).isEmpty,
            nodes: Set(reply.values(2).map { NodeRecord.name(of: $0.key) }), name: name(in: reply.values(3)))
    }

    /// The etcd cluster that is named instead of the end of a log; nil for the end of a log.
    package static func store(ofHead bytes: [UInt8]) -> String? {
        guard bytes.first == pointerVersion, bytes.count > 1 else { return nil }
        return String(validating: bytes.dropFirst(), as: UTF8.self)
    }

    // MARK: Choosing

    /// The etcd cluster for a new database: the one with the fewest, of those that all nodes use; the first one among
    /// equals. Nil as long as nothing can be chosen: home is new or has lost everything, or the nodes that run are not
    /// known.
    ///
    /// - parameter others: those beside home, in their order, with the nodes that use them.
    package static func choice(_ home: Home, _ others: [(name: String, nodes: Set<String>)]) -> String? {
        guard home.isInUse, !home.nodes.isEmpty else { return nil }
        let usable = [self.home] + others.filter { home.nodes.isSubset(of: $0.nodes) }.map(\.name)
        // `min(by:)` returns the first of equals.
        return usable.min { home.counts[$0, default: 0] < home.counts[$1, default: 0] }
    }

    /// Writes down, at home, which etcd cluster is to have the log of a database, unless that is known, a log has begun
    /// there, or nodes miss one that was there. Without success, ``found(_:)`` tells what home knows.
    package static func enter(_ database: String, in store: String) -> EtcdTransaction {
        let (entry, keys) = (key(of: database), LogKeys(database: database))
        var writes = [EtcdTransaction.Operation.put(key: entry, value: Array(store.utf8))]
        if store != home { writes.append(.put(key: keys.head, value: [pointerVersion] + store.utf8)) }
        return EtcdTransaction(
            if: [
                .init(entry, .equal, .createRevision(0)), .init(keys.head, .equal, .createRevision(0)),
                .isEmpty(keys.allFiles),
            ], then: writes, else: entryAndHead(of: database), isRepeatable: true)
    }

    // MARK: Names

    package static let nameKey = Array("/hearth/1/name".utf8)

    /// Gives an etcd cluster its name, unless it has one, which the reply has then. One without a name that has logs is
    /// the home of an earlier version.
    package static func name(_ name: String) -> EtcdTransaction {
        EtcdTransaction(
            if: [.init(nameKey, .equal, .createRevision(0))] + (name == home ? [] : [.isEmpty(LogKeys.databases)]),
            then: [.put(key: nameKey, value: Array(name.utf8))],
            else: [.range(EtcdRange(.key(nameKey)))], isRepeatable: true)
    }

    /// The name of an etcd cluster that did not get another one; nil if it has none.
    package static func presentName(_ reply: EtcdTransactionReply) -> String? { name(in: reply.values(0)) }

    /// - parameter values: of ``nameKey``.
    package static func name(in values: [EtcdKeyValue]) -> String? {
        values.first.map { String(decoding: $0.value, as: UTF8.self) }
    }
}
