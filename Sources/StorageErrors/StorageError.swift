/// Why a storage operation failed. None of these errors loses acknowledged data.
package enum StorageError: Error, Hashable, Sendable {
    /// No space left on the device (or the quota is used up).
    case full
    /// The folder or the file cannot be written.
    case readOnly(String)
    /// The device or the file system reported an error.
    case inputOutput(String)
    /// The file is not a database of ours, or is damaged.
    case damaged(String)
    /// A newer version of the program has written the file, in a format that this one does not know.
    case newerFormat(path: String, found: Int64, known: Int64)
    /// Another process has the database.
    case busy(String)
    /// The server has as much of this to do as it may have.
    case overloaded(String)
    /// A restore replaced some of the files of this database, and then stopped.
    case interruptedRestore(database: String)
    /// The data folder or a file in it is not the one that was opened: it was moved, removed or replaced.
    case replaced(String)
    /// Too few of the servers that keep the commit log can be reached.
    case noQuorum
    /// They have reached their quota, and take nothing until an operator has made room.
    case etcdFull
    /// Another node of the cluster takes the writes of this database; nil if none does at the moment.
    case ownedElsewhere(node: String?)
    /// The server shuts down and takes no more requests.
    case stopping

    /// One line for operators, with paths and the words of the system.
    package var message: String {
        switch self {
        case .full, .noQuorum, .ownedElsewhere, .stopping, .overloaded: summary
        case .etcdFull:
            "etcd is full: its file has reached --quota-backend-bytes, and it takes no writes until it was compacted and defragmented and 'etcdctl alarm disarm' was run (docs/operating/cluster.md, 'When etcd is full')"
        case .readOnly(let why), .inputOutput(let why), .busy(let why), .replaced(let why): "\(summary): \(why)"
        case .damaged(let detail): "the database file is damaged: \(detail)"
        case .newerFormat(let path, let found, let known):
            "\(path) was written by a newer version of hearth (its format is \(found), and this version reads up to \(known)): start that version, or restore a backup"
        case .interruptedRestore(let database): "a restore of \(database) was interrupted: run 'hearth restore' again"
        }
    }

    /// A short line for clients, which does not tell how the server is set up.
    package var summary: String {
        switch self {
        case .full: "no space left on the device that holds the data folder"
        case .readOnly: "the data folder cannot be written"
        case .inputOutput: "the disk reported an error"
        case .damaged: "stored data is damaged"
        case .newerFormat: "stored data was written by a newer version of the server"
        case .busy: "the database is in use"
        case .overloaded(let detail): detail
        case .interruptedRestore: "a restore of the database was interrupted"
        case .replaced: "the data folder is not the one that was opened"
        case .noQuorum: "too few of the servers that keep the commit log can be reached"
        case .etcdFull: "the servers that keep the commit log are full"
        case .ownedElsewhere(let node?): "the node '\(node)' takes the writes of this database"
        case .ownedElsewhere(nil): "no node of the cluster takes the writes of this database at the moment"
        case .stopping: "the server is shutting down"
        }
    }
}
