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

    init(name: String, folder: String) {
        tree = "\(folder)/\(name).tree"
        log = "\(folder)/\(name).log"
        history = "\(folder)/\(name).history"
        past = "\(folder)/\(name).past"
        restoring = "\(folder)/\(name).restoring"
        installing = "\(folder)/\(name).installing"
    }

    /// The files with data.
    var all: [String] { [tree, log, history, past] }

    /// Files that SQLite may keep next to a database file.
    static let suffixes = ["", "-wal", "-shm", "-journal"]
}
