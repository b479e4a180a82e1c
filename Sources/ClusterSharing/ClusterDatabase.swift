package import HearthDatabaseHost
import HearthJSONTree
import HearthJSONValues
package import HearthRealtimeDatabase
import HearthStorageErrors
import HearthSystem
package import HearthTreeStorage
import Synchronization

/// The database for the other data that the nodes of a cluster share (``DataFolder/clusterDatabase``). It is replicated
/// like others, and clients cannot access it.
///
/// ```
/// accounts/head           version: that of the newest commit, author: who has made it
/// accounts/TABLE/KEY      a row of the accounts (SharedRow.swift)
/// documents/NAME          a document (SharedDocuments.swift)
/// ```
package final class ClusterDatabase: Sendable {
    /// Asks a database of this server something, after some milliseconds. Never waits.
    package typealias Asking =
        @Sendable (
            Operation, _ database: UInt32, Principal, _ milliseconds: Int, _ then: @escaping @Sendable (Reply) -> Void
        ) -> Void

    private let folder: DataFolder
    /// The data folder of the node.
    var folderPath: String { folder.path }
    private let databases: DatabaseThread
    private let asking: Asking
    private let index: UInt32

    package init(
        folder: DataFolder, directory: DatabaseDirectory, databases: DatabaseThread, asking: @escaping Asking
    ) {
        self.folder = folder
        self.databases = databases
        self.asking = asking
        index = directory.index(ofServed: DataFolder.clusterDatabase)
    }

    /// A path that is this program's text.
    static func path(_ text: String) -> Path {
        guard let path = try? Path(parsing: text) else { preconditionFailure("\(text) is not a path") }
        return path
    }

    /// Asks the database something. Never waits.
    ///
    /// - parameter milliseconds: how long to wait first.
    func ask(
        _ operation: Operation, as principal: Principal = .administrator, after milliseconds: Int = 0,
        then: @escaping @Sendable (Reply) -> Void
    ) {
        asking(operation, index, principal, milliseconds, then)
    }

    /// The same, and waits. Not from an event loop, nor from the databases' thread.
    func ask(_ operation: Operation, as principal: Principal = .administrator) -> Reply {
        let answer = Mutex<Reply?>(nil)
        let isAnswered = Semaphore()
        ask(operation, as: principal) { reply in
            answer.withLock { $0 = reply }
            isAnswered.signal()
        }
        isAnswered.wait()
        return answer.withLock { $0 } ?? .failed(.unavailable(.stopping))
    }

    /// The last operation that the log of this node has; nil while the database is not open.
    func sequence(then: @escaping @Sendable (UInt64?) -> Void) {
        let isAsked = databases.ask { [index] databases in then(databases.durableSequence(of: index)) }
        if !isAsked { then(nil) }
    }

    /// The same, and waits.
    func sequence() -> UInt64? {
        let answer = Mutex<UInt64?>(nil)
        let isAnswered = Semaphore()
        sequence { sequence in
            answer.withLock { $0 = sequence }
            isAnswered.signal()
        }
        isAnswered.wait()
        return answer.withLock { $0 }
    }

    /// A request without a user is denied once this node has all earlier commits.
    static let question = Operation.update(
        base: path("accounts"),
        [
            (
                target: WriteTarget(path: path("accounts/head/version")),
                value: IncomingValue(json: CanonicalJSON(integer: 0))
            )
        ])

    /// Visits the operations of this node's log after a sequence number.
    ///
    /// - parameter epoch: the history that the number is of; 0 if that is not known.
    /// - returns: the last one's, and its history; nil if the log does not reach back so far, or has another history.
    func forEachOperation(
        after sequence: UInt64, epoch: UInt64 = 0, _ body: (LoggedOperation) throws(StorageError) -> Void
    ) throws(StorageError) -> (sequence: UInt64, epoch: UInt64)? {
        // The file may have been replaced by a copy of another node's.
        guard let reader = folder.makeLogReader(of: DataFolder.clusterDatabase) else { return (sequence, epoch) }
        let present = try reader.epoch(extending: epoch, after: sequence)
        guard let present else { return nil }
        var (start, end) = (sequence, sequence)
        try reader.forEachRecord(after: sequence, bytesMax: .max) {
            start = $0
        } _: { (record) throws(StorageError) in
            if start > sequence { return }
            for operation in try record.operations() where operation.sequence > sequence {
                try body(operation)
                end = operation.sequence
            }
        }
        if start > sequence { return nil }
        // What the caller keeps of them must not be ahead of the log after a loss of power.
        if end > sequence { try folder.syncLog(of: DataFolder.clusterDatabase) }
        return (end, present)
    }

    /// Waits until the disk has the log of this node. False if that has failed.
    func sync() -> Bool { (try? folder.syncLog(of: DataFolder.clusterDatabase)) != nil }

    /// Whether this node's log had a sequence number of a history, or begins after it.
    func hasHad(_ sequence: UInt64, epoch: UInt64) throws(StorageError) -> Bool {
        try folder.makeLogReader(of: DataFolder.clusterDatabase)?.hasHad(sequence, epoch: epoch) ?? false
    }
}

extension CanonicalJSON {
    /// The text of a string.
    var string: [UInt8]? { (try? JSONValue(parsing: bytes))?.utf8 }

    var integer: Int64? { (try? JSONValue(parsing: bytes))?.integer }
}
