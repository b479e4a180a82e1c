import HearthReplicatedLog

/// The placement of a node, with the holders of databases that were asked for: finding those of one costs a hash for
/// every member, and nodes ask for each of their databases once a second.
struct HolderTable {
    var placement = Placement() {
        didSet { if placement.members != oldValue.members { found = [:] } }
    }

    /// By name of the database.
    private var found: [String: [String]] = [:]

    /// Clients choose names, so there is no end to them. With more databases, some are looked for each time.
    static let countMax = 16_384

    var count: Int { found.count }

    /// See ``Placement/holders(of:)``. O(1), or O(members) for a database that was not asked for lately.
    mutating func holders(of database: String) -> [String]? {
        if let holders = found[database] { return holders }
        guard let holders = placement.holders(of: database) else { return nil }
        if found.count >= Self.countMax { found = [:] }
        found[database] = holders
        return holders
    }

    /// See ``Placement/holds(_:_:)``. O(1), or O(members) for a database that was not asked for lately.
    mutating func holds(_ node: String, _ database: String) -> Bool {
        holders(of: database)?.contains(node) ?? placement.holds(node, database)
    }
}
