import HearthRealtimeDatabase
import Synchronization
import HearthTreeStorage

/// Which database a name means. A name has a number while a connection uses it, and for good once the database has
/// files or the configuration names it; the database itself is opened by its thread.
///
/// Databases that exist are always served. A name of one that does not exist can be used where new databases are
/// allowed, or by administrators; how many of these there are is limited, for each client and for all.
package final class DatabaseDirectory: Sendable {
    private struct Entry {
        var index: UInt32
        var users = 0
        /// It stays open when it is not used.
        var isKept = false
        /// The client for which the name was entered, while it has no files.
        var owner: (any NameUser)?
    }

    private struct Table {
        var entries: [String: Entry] = [:]
        /// By number; nil for one that is free.
        var names: [String?] = []
        var freeIndices: [UInt32] = []
        var unkeptCount = 0

        mutating func enter(_ name: String, _ entry: (UInt32) -> Entry) -> Entry {
            let index = freeIndices.popLast() ?? UInt32(names.count)
            if index < names.count { names[Int(index)] = name } else { names.append(name) }
            let entry = entry(index)
            entries[name] = entry
            if !entry.isKept { unkeptCount += 1 }
            return entry
        }
    }

    private let table = Mutex(Table())
    private let limits: DatabaseNameLimits
    /// Whether a database has files, or rules of its own.
    private let exists: @Sendable (String) -> Bool
    /// The meaning of an empty name.
    package let defaultName: String

    /// - parameter exists: tells whether a database that is not known yet has files, or rules of its own.
    package init(
        defaultName: String, limits: DatabaseNameLimits, exists: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        self.defaultName = defaultName
        self.limits = limits
        self.exists = exists
        table.withLock { table in
            _ = table.enter(defaultName) { Entry(index: $0, isKept: true) }
        }
    }

    package enum LookUpError: Error {
        case invalidName
        /// There is no such database, and this client may not make one.
        case unknown
        /// As many databases are used that have no files as may be.
        case tooMany
    }

    /// That a connection uses a database.
    package struct Use {
        package let index: UInt32
        /// The database must be told when the use ends.
        package fileprivate(set) var mustEnd = false
    }

    /// The name that a client means, which no database need have yet.
    package func name(_ asked: String) throws(LookUpError) -> String {
        let name = asked.isEmpty ? defaultName : asked
        guard DatabaseName.isValid(name) else { throw .invalidName }
        return name
    }

    /// Refuses a name that ``use(_:by:mayCreate:)`` would always refuse.
    package func check(_ asked: String, mayCreate: Bool) throws(LookUpError) {
        let name = try name(asked)
        if mayCreate && limits.creation != .never || isOpenToAll(name) { return }
        let isKept = table.withLock { $0.entries[name]?.isKept ?? false }
        guard isKept || exists(name) else { throw .unknown }
    }

    /// Begins to use a database.
    ///
    /// - parameter mayCreate: an administrator asks, who may name a database that does not exist.
    package func use(_ asked: String, by client: any NameUser, mayCreate: Bool) throws(LookUpError) -> Use {
        let name = try name(asked)
        if let use = table.withLock({ $0.entries[name].flatMap { $0.isKept ? Use(index: $0.index) : nil } }) {
            return use
        }
        if limits.names.contains(name) || exists(name) { return keep(name) }
        guard mayCreate && limits.creation != .never || limits.creation == .byEverybody else { throw .unknown }
        let use: Use? = table.withLock { table in
            if table.entries[name] != nil {
                table.entries[name]?.users += 1
            } else {
                guard table.unkeptCount < limits.unwrittenMax,
                    client.enterName(max: limits.unwrittenPerClientMax)
                else { return nil }
                _ = table.enter(name) { Entry(index: $0, users: 1, owner: client) }
            }
            return table.entries[name].map { Use(index: $0.index, mustEnd: !$0.isKept) }
        }
        guard let use else { throw .tooMany }
        return use
    }

    private func keep(_ name: String) -> Use {
        table.withLock { table in
            if let entry = table.entries[name] {
                // Entered before it existed. The thread of the databases finds its files when it opens it.
                table.entries[name]?.users += entry.isKept ? 0 : 1
                return Use(index: entry.index, mustEnd: !entry.isKept)
            }
            return Use(index: table.enter(name) { Entry(index: $0, isKept: true) }.index)
        }
    }

    /// The default database and those that the configuration names.
    package var served: [UInt32] { served(with: []) }

    /// The same, and others that exist.
    func served(with others: [String]) -> [UInt32] {
        let names = limits.names.union(others).subtracting([defaultName])
        return ([defaultName] + names.sorted()).map { keep($0).index }
    }

    /// The number of a database that exists.
    package func index(ofServed name: String) -> UInt32 { keep(name).index }

    /// The same if its name is known by now.
    package func index(ofKnown name: String) -> UInt32? { table.withLock { $0.entries[name]?.index } }

    /// See ``DatabaseNameLimits/writtenMax``.
    var writtenMax: Int { limits.writtenMax }

    /// Whether everybody may make this database by a write that its rules allow.
    func isOpenToAll(_ name: String) -> Bool {
        limits.creation == .byEverybody || name == defaultName || limits.names.contains(name)
    }

    /// Called by the databases' thread when it has done everything that was asked in the course of a use. True when the
    /// name is forgotten: nothing is known of the number any more.
    func endUse(of index: UInt32) -> Bool {
        table.withLock { table in
            guard let name = table.names[Int(index)], var entry = table.entries[name] else { return false }
            entry.users -= 1
            let isForgotten = entry.users <= 0 && !entry.isKept
            table.entries[name] = isForgotten ? nil : entry
            if isForgotten {
                entry.owner?.leaveName()
                table.unkeptCount -= 1
                table.names[Int(index)] = nil
                table.freeIndices.append(index)
            }
            return isForgotten
        }
    }

    /// The database has files.
    func keep(_ index: UInt32) {
        table.withLock { table in
            guard let name = table.names[Int(index)], let entry = table.entries[name], !entry.isKept else { return }
            entry.owner?.leaveName()
            table.unkeptCount -= 1
            table.entries[name]?.owner = nil
            table.entries[name]?.isKept = true
        }
    }

    /// The names that are known.
    package var names: [String] { table.withLock { Array($0.entries.keys) } }

    /// The name of a number that is in use.
    package func name(of index: UInt32) -> String { table.withLock { $0.names[Int(index)] } ?? "" }
}

/// Who uses names of databases without files, of which each client may have so many.
package protocol NameUser: AnyObject, Sendable {
    /// Counts one more name. False, and no change, if there are `countMax` already and this client has a limit.
    func enterName(max countMax: Int) -> Bool

    /// One of these names is not in use any more, or has files.
    func leaveName()
}

/// Which databases there may be.
package struct DatabaseNameLimits: Sendable {
    /// Who may use names of databases that do not exist yet.
    package enum Creation: Sendable {
        /// A write that the rules allow makes the database.
        case byEverybody
        case byAdministrators
        case never
    }

    /// Those that exist for everybody, whether or not they have files.
    package var names: Set<String> = []
    package var creation = Creation.byAdministrators
    /// Databases with files beyond which a write makes no further one. Those that exist are always served.
    package var writtenMax = 1024
    /// Names in use of databases without files.
    package var unwrittenMax = 1024
    /// Those of one client address.
    package var unwrittenPerClientMax = 32

    package init() {}
}
