import RealtimeDatabase
import Synchronization
import TreeStorage

/// Which database a name means. Names get their number when they are first used; the database itself is opened by its thread.
package final class DatabaseDirectory: Sendable {
    private struct Names {
        var indices: [String: UInt32] = [:]
        var names: [String] = []
    }

    private let table = Mutex(Names())
    /// Databases that one process serves at most.
    private let databasesMax: Int
    /// What an empty name means.
    package let defaultName: String

    package init(defaultName: String, databasesMax: Int) {
        self.defaultName = defaultName
        self.databasesMax = databasesMax
    }

    package enum LookUpError: Error {
        case invalidName
        case tooMany
    }

    /// The number of a database, for as long as the process runs.
    package func index(of name: String) throws(LookUpError) -> UInt32 {
        let name = name.isEmpty ? defaultName : name
        guard DataFolder.isValidName(name) else { throw .invalidName }
        let index: UInt32? = table.withLock { names in
            if let index = names.indices[name] { return index }
            guard names.names.count < databasesMax else { return nil }
            let index = UInt32(names.names.count)
            names.names.append(name)
            names.indices[name] = index
            return index
        }
        guard let index else { throw .tooMany }
        return index
    }

    /// The names that were used so far.
    var names: [String] { table.withLock { $0.names } }

    package func name(of index: UInt32) -> String { table.withLock { $0.names[Int(index)] } }
}
