/// Where the files of a database are.
struct DatabaseFiles: Sendable {
    let tree: String
    let log: String
    /// The history that settings keep (``HistoryFile``).
    let history: String
    let past: String
    /// There while a restore replaces the others.
    let restoring: String
    /// There while a copy of another node's files replaces the others (NodeCopy.swift).
    let installing: String
    /// There while a node of a cluster removes the others (NodeFiles.swift).
    let removing: String
    /// There while the node has the others only because its clients use them.
    let visiting: String
    /// Where the log is, if that is not the first etcd cluster (NodeFiles.swift).
    let store: String

    init(name: String, folder: String) {
        tree = "\(folder)/\(name).tree"
        log = "\(folder)/\(name).log"
        history = "\(folder)/\(name).history"
        past = "\(folder)/\(name).past"
        restoring = "\(folder)/\(name).restoring"
        installing = "\(folder)/\(name).installing"
        removing = "\(folder)/\(name).removing"
        visiting = "\(folder)/\(name).visiting"
        store = "\(folder)/\(name).etcd"
    }

    /// The files with data.
    var all: [String] { [tree, log, history, past] }

    /// Small files without data.
    var notes: [String] { [restoring, installing, removing, visiting, store] }

    /// Files that SQLite may keep next to a database file.
    static let suffixes = ["", "-wal", "-shm", "-journal"]
}
