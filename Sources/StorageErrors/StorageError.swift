/// Why storage could not do what it was asked. Nothing acknowledged is lost by any of them.
package enum StorageError: Error, Hashable, Sendable {
    /// No space left on the device (or the quota is used up).
    case full
    /// The folder or the file cannot be written.
    case readOnly(String)
    /// The device or the file system reported an error.
    case inputOutput(String)
    /// The file is not a database of ours, or is damaged.
    case damaged(String)
    /// Another process has the database.
    case busy(String)
    /// The server has as much of this to do as it may have.
    case overloaded(String)

    /// One line for people: clients get it with a refused write, operators in the log.
    package var message: String {
        switch self {
        case .full: "no space left on the device that holds the data folder"
        case .readOnly(let detail): "the data folder cannot be written: \(detail)"
        case .inputOutput(let detail): "the disk reported an error: \(detail)"
        case .damaged(let detail): "the database file is damaged: \(detail)"
        case .busy(let detail): "the database is in use: \(detail)"
        case .overloaded(let detail): detail
        }
    }
}
