import RealtimeDatabase
import Synchronization
import TreeStorage

/// Which database a name means. A name has a number while somebody uses it, and for ever once the database has files;
/// the database itself is opened by its thread.
package final class DatabaseDirectory: Sendable {
    private struct Entry {
        var index: UInt32
        var users = 0
        /// It stays when nobody uses it.
        var isKept = false
    }

    private struct Table {
        var entries: [String: Entry] = [:]
        /// By number; nil for one that is free.
        var names: [String?] = []
        var freeIndices: [UInt32] = []
    }

    private let table = Mutex(Table())
    /// Databases that one process serves at most.
    private let databasesMax: Int
    /// What an empty name means.
    package let defaultName: String

    package init(defaultName: String, databasesMax: Int) {
        self.defaultName = defaultName
        self.databasesMax = databasesMax
        table.withLock { table in
            table.entries[defaultName] = Entry(index: 0, isKept: true)
            table.names.append(defaultName)
        }
    }

    package enum LookUpError: Error {
        case invalidName
        case tooMany
    }

    /// That somebody uses a database.
    struct Use {
        let index: UInt32
        /// The database must be told when the use ends.
        fileprivate(set) var mustEnd = false
    }

    /// The name that a client means, which no database need have yet.
    func name(_ asked: String) throws(LookUpError) -> String {
        let name = asked.isEmpty ? defaultName : asked
        guard DataFolder.isValidName(name) else { throw .invalidName }
        return name
    }

    /// Begins to use a database.
    func use(_ asked: String) throws(LookUpError) -> Use {
        let name = try name(asked)
        let use: Use? = table.withLock { table in
            if let entry = table.entries[name] {
                if entry.isKept { return Use(index: entry.index) }
                table.entries[name]?.users += 1
                return Use(index: entry.index, mustEnd: true)
            }
            guard table.entries.count < databasesMax else { return nil }
            let index = table.freeIndices.popLast() ?? UInt32(table.names.count)
            if index < table.names.count { table.names[Int(index)] = name } else { table.names.append(name) }
            table.entries[name] = Entry(index: index, users: 1)
            return Use(index: index, mustEnd: true)
        }
        guard let use else { throw .tooMany }
        return use
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
                table.names[Int(index)] = nil
                table.freeIndices.append(index)
            }
            return isForgotten
        }
    }

    /// The database has files.
    func keep(_ index: UInt32) {
        table.withLock { table in
            if let name = table.names[Int(index)] { table.entries[name]?.isKept = true }
        }
    }

    /// The names that are known.
    var names: [String] { table.withLock { Array($0.entries.keys) } }

    /// The name of a number that is in use.
    package func name(of index: UInt32) -> String { table.withLock { $0.names[Int(index)] } ?? "" }
}
