package import HearthEtcdMessages
import HearthRealtimeDatabase

/// The nodes among which the databases of a cluster are distributed: the value of `/hearth/1/members`.
///
/// ```
/// members = version:1 checksum:8 (state:1 size:1 name)…              sorted by name; state 0 member, 1 draining
/// ```
/// The checksum is that of all that follows it. Without the value, every node holds every database.
package struct ClusterMembers: Hashable, Sendable {
    package enum State: UInt8, Sendable {
        case member = 0
        /// It keeps its files until others have them, and gets no further databases.
        case draining = 1
    }

    package var states: [String: State]

    package init(_ states: [String: State]) { self.states = states }

    /// The members in the order of their names.
    package var names: [String] { states.keys.sorted() }

    package func isDraining(_ name: String) -> Bool { states[name] == .draining }

    // MARK: The value

    private static let version: UInt8 = 1

    package static let key = Array("/hearth/1/members".utf8)

    package var bytes: [UInt8] {
        var entries = FieldWriter()
        for (name, state) in states.sorted(by: { $0.key < $1.key }) {
            entries.add(state.rawValue)
            entries.add(UInt8(name.utf8.count))
            entries.add(name.utf8)
        }
        var fields = FieldWriter()
        fields.add(Self.version)
        fields.add(entries.bytes.withUnsafeBytes(LogRecord.checksum(ofPart:)))
        fields.add(entries.bytes)
        return fields.bytes
    }

    /// Nil if the bytes are damaged, or of a version that is not known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version, let checksum = fields.read(UInt64.self) else { return nil }
        let entries = fields.readRest()
        guard entries.withUnsafeBytes(LogRecord.checksum(ofPart:)) == checksum else { return nil }
        fields = FieldReader(entries)
        states = [:]
        var last: String?
        while !fields.isAtEnd {
            guard let state = fields.read(UInt8.self).flatMap(State.init), let size = fields.read(UInt8.self),
                size > 0, let text = fields.read(count: Int(size)),
                let name = String(validating: text, as: UTF8.self), last.map({ $0 < name }) ?? true
            else { return nil }
            states[name] = state
            last = name
        }
    }

    /// Replaces the value, if it is still the one that was read.
    ///
    /// - parameter revision: of the value that was read; 0 for none.
    /// - parameter conditions: further ones.
    package func replace(
        _ revision: Int64, if conditions: [EtcdTransaction.Comparison] = []
    ) -> EtcdTransaction {
        EtcdTransaction(
            if: [.init(Self.key, .equal, .modRevision(revision))] + conditions,
            then: [.put(key: Self.key, value: bytes)], isRepeatable: true)
    }

    // MARK: Holders

    /// So many nodes hold a database.
    package static let holdersMax = 3

    /// Whether a database is one of the nodes' own, which every node holds: its name begins with `$`.
    package static func allHold(_ database: String) -> Bool { database.utf8.first == UInt8(ascii: "$") }

    /// The members that hold a database, the one first that is to own its log; nil for a database that every node
    /// holds.
    ///
    /// They are the first three by score that do not drain; with too few of these, draining ones too. When a member
    /// comes or goes, no database moves between other members.
    package func holders(of database: String) -> [String]? {
        if Self.allHold(database) { return nil }
        func candidates(_ state: State) -> [String] {
            NodeRecord.candidates(for: database, of: states.lazy.filter { $0.value == state }.map(\.key))
        }
        var order = candidates(.member)
        if order.count < Self.holdersMax { order += candidates(.draining) }
        return Array(order.prefix(Self.holdersMax))
    }
}
