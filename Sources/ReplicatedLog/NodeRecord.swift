package import HearthEtcdMessages

/// A node of the cluster that runs, as the others see it: the value of `/hearth/1/node/NAME`, which ends with the lease
/// of the node.
///
/// ```
/// node = version:1 incarnation:8 size:2 peers:size address     where nodes reach it, empty for nowhere; where clients
///                                                              do, for operators
/// ```
/// Version 1 has no `size` and no `peers`.
package struct NodeRecord: Hashable, Sendable {
    /// A random number of the process.
    package var incarnation: UInt64
    package var address: String
    /// Where other nodes reach it; nil for nowhere.
    package var peerAddress: String?

    package init(incarnation: UInt64, address: String, peerAddress: String? = nil) {
        self.incarnation = incarnation
        self.address = address
        self.peerAddress = peerAddress
    }

    private static let version: UInt8 = 2

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        fields.add(incarnation)
        fields.add(UInt16(peerAddress?.utf8.count ?? 0))
        if let peerAddress { fields.add(peerAddress.utf8) }
        fields.add(address.utf8)
        return fields.bytes
    }

    /// Nil if the bytes are not a record of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard let version = fields.read(UInt8.self), (1...Self.version).contains(version),
            let incarnation = fields.read(UInt64.self)
        else { return nil }
        var peers: [UInt8] = []
        if version > 1 {
            guard let size = fields.read(UInt16.self), let text = fields.read(count: Int(size)) else { return nil }
            peers = text
        }
        guard let peerAddress = String(validating: peers, as: UTF8.self),
            let address = String(validating: fields.readRest(), as: UTF8.self)
        else { return nil }
        self.init(incarnation: incarnation, address: address, peerAddress: peers.isEmpty ? nil : peerAddress)
    }

    package static let folder = EtcdKeyRange.prefix(Array("/hearth/1/node/".utf8))

    package static func key(of name: String) -> [UInt8] { folder.start + name.utf8 }

    /// The name of the node with a key of the folder.
    package static func name(of key: [UInt8]) -> String {
        String(decoding: key.dropFirst(folder.start.count), as: UTF8.self)
    }

    /// Registers a node, with the format that it reads, unless one of this name is registered, which the reply has
    /// then.
    package func registration(of name: String, lease: Int64) -> EtcdTransaction {
        let key = Self.key(of: name)
        return EtcdTransaction(
            if: [.init(key, .equal, .createRevision(0))],
            then: [.put(key: key, value: bytes, lease: lease), StoreFormat.statement(of: name, lease: lease)],
            else: [.range(EtcdRange(.key(key)))], isRepeatable: true)
    }

    /// The order in which nodes claim a database that has no owner: another one for each database, so that its nodes
    /// share the work, and the same at all nodes. It never changes: two versions of the program in one cluster must
    /// agree.
    ///
    /// ```
    /// state = FNV-1a, 64 bits, of the bytes of  database "/" node
    /// score = SplitMix64's last step: z = state, z ^= z >> 30, z *= 0xBF58476D1CE4E5B9, z ^= z >> 27,
    ///         z *= 0x94D049BB133111EB, z ^= z >> 31;  the highest comes first
    /// ```
    ///
    /// - parameter nodes: in any order.
    package static func candidates(for database: String, of nodes: some Sequence<String>) -> [String] {
        func fold(_ text: String, into hash: UInt64) -> UInt64 {
            text.utf8.reduce(hash) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }
        }
        let start = fold("/", into: fold(database, into: 0xCBF2_9CE4_8422_2325))
        func score(_ node: String) -> UInt64 { SplitMix64.mix(fold(node, into: start)) }
        return nodes.map { (score($0), $0) }.sorted { $0 > $1 }.map(\.1)
    }
}
