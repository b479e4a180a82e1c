import HearthTreeStorage

/// The open files of a database.
struct OpenedFiles: Sendable {
    let log: LogFile
    let tree: TreeFile
}
