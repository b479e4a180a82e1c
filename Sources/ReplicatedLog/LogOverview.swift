package import HearthEtcdMessages

/// The log of one database as the store has it, for operators.
package struct LogOverview: Hashable, Sendable {
    package var database: String
    /// The node that takes the writes, if one does.
    package var owner: String?
    /// Nil for a log without a beginning.
    package var head: LogHead?
    /// The etcd cluster that has the log instead (``StoreDirectory``).
    package var elsewhere: String?
    /// The first operation that the store still has.
    package var floor: UInt64
    /// The last operation that the nodes which run have on disk, as they said within the last seconds.
    package var kept: [String: UInt64]
    /// What the nodes have in their files, as far as they say.
    package var held: [String: HeldFiles]

    /// Whether a node has files that are a beginning of the log's history. Of one that does not say what it has, as
    /// earlier versions, its position counts.
    package func hasFiles(_ node: String) -> Bool {
        guard let held = held[node] else { return kept[node] != nil }
        return head.map { held.has(0, of: $0.epoch) } ?? false
    }

    /// Whether a node has files of the log, and does not say that they fail: then it may take the writes.
    package func mayBeOwned(by node: String) -> Bool { kept[node] != nil && held[node] != .failing }

    /// Nodes that say this of their files, in order.
    package func nodes(that held: HeldFiles) -> [String] { self.held.filter { $0.value == held }.keys.sorted() }

    package static func request(_ database: String) -> EtcdTransaction {
        let keys = LogKeys(database: database)
        return EtcdTransaction(
            then: [keys.owner, keys.head, keys.floor].map { .range(EtcdRange(.key($0))) }
                + [.range(EtcdRange(keys.allKept)), .range(EtcdRange(keys.allHeld))], isRepeatable: true)
    }

    /// Nil if a value is damaged, or of a later version.
    package init?(_ database: String, _ reply: EtcdTransactionReply) {
        self.database = database
        if let value = reply.values(0).first {
            guard let owner = OwnerRecord(value.value) else { return nil }
            self.owner = owner.node
        }
        if let value = reply.values(1).first {
            elsewhere = StoreDirectory.store(ofHead: value.value)
            head = LogHead(value.value)
            if head == nil, elsewhere == nil { return nil }
        }
        floor = 1
        if let value = reply.values(2).first {
            guard let number = LogTransactions.number(value.value) else { return nil }
            floor = number
        }
        kept = [:]
        let start = LogKeys(database: database).allKept.start.count
        for value in reply.values(3) {
            guard let number = LogTransactions.number(value.value) else { return nil }
            kept[String(decoding: value.key.dropFirst(start), as: UTF8.self)] = number
        }
        held = [:]
        let keys = LogKeys(database: database)
        for value in reply.values(4) { held[keys.holder(of: value.key)] = HeldFiles(value.value) }
    }
}

extension LogKeys {
    private static let folder = Array("/hearth/1/db/".utf8)

    /// All databases, except for what nodes state of them, and parts.
    static let databases = EtcdKeyRange.prefix(folder)

    /// Finds a database: the reply has at most one key, whose database is ``database(of:)``.
    ///
    /// - parameter previous: the one that was found before; nil for the first one.
    package static func nextDatabase(after previous: String?) -> EtcdRange {
        let start = previous.map { EtcdKeyRange.end(ofPrefix: LogKeys(database: $0).watched.start) } ?? folder
        return EtcdRange(.keys(from: start, upTo: EtcdKeyRange.end(ofPrefix: folder)), limit: 1, keysOnly: true)
    }

    /// The database that a key belongs to.
    package static func database(of key: [UInt8]) -> String? {
        guard key.starts(with: folder), let end = key[folder.count...].firstIndex(of: UInt8(ascii: "/")) else {
            return nil
        }
        return String(validating: key[folder.count..<end], as: UTF8.self)
    }
}
