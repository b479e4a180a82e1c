import HearthClientSession

/// Why an operation of a database failed.
public enum DatabaseError: Error, Hashable, Sendable {
    /// The rules deny it.
    case permissionDenied(String)
    /// A setting of the server limits the rate of this operation. It may succeed after this time; nil if it exceeds the
    /// limit on its own.
    case rateExceeded(retryAfter: Duration?, String)
    /// The server refused it, with a status of the protocol and a text for people.
    case refused(status: String, message: String)
    /// The text is not the URL of a database.
    case invalidURL(String)
    /// A key has invalid characters, or the path is too deep.
    case invalidPath(String)
    /// The value cannot be stored: too large, too deep, a number that is not finite, …
    case invalidValue(String)
    /// The parts of a query contradict each other.
    case invalidQuery(String)
    /// A value cannot be decoded as the requested type.
    case typeMismatch(String)
    /// The connection was lost before the answer to a transaction, or the database was closed. The transaction may or
    /// may not have taken effect.
    case disconnected(String)
    /// There is no connection: the last attempt failed for a reason that is probably permanent, or the first four
    /// attempts failed. The text gives the reason and what to do. A write or a transaction stays queued; a read is
    /// dropped.
    case connectionFailed(String)
    /// There was no answer within ``DatabaseOptions/requestTimeout``. A write or a transaction stays queued; a read is
    /// dropped.
    case timedOut(String)
    /// The waiting task was cancelled. A write or a transaction stays queued; if its task was cancelled before the
    /// call, the error is `writeCancelled` instead. A read is dropped.
    case cancelled
    /// A later write of this client to the same location overrode a transaction.
    case overridden
    /// A transaction failed 25 times because of concurrent changes.
    case tooManyRetries
    /// The write is not made: ``Database/purgeOutstandingWrites()`` discarded it, or its task was cancelled before it
    /// was queued.
    case writeCancelled
    /// Events arrived faster than they were read.
    case slowReader
    /// The persistence file cannot be used: it cannot be opened, or belongs to another database.
    case cache(String)
    /// Another process, or another database of this one, uses the file.
    case cacheInUse(String)
    /// The file is damaged, or is not a persistence file. Remove it; the writes in it are lost.
    case cacheDamaged(String)

    static let closed = DatabaseError.disconnected("the database was closed")

    init(_ error: ConnectionError) {
        switch error {
        case .refused("permission_denied", let text): self = .permissionDenied(text)
        case .refused(let status, let text): self = .refused(status: status, message: text)
        case .rateExceeded(let milliseconds, let text):
            self = .rateExceeded(retryAfter: milliseconds.map { .milliseconds($0) }, text)
        case .cancelled: self = .cancelled
        case .slowReader: self = .slowReader
        case .disconnected, .protocolError: self = .disconnected(error.description)
        }
    }
}

extension DatabaseError: CustomStringConvertible {
    /// A one-line description for people.
    public var description: String {
        switch self {
        case .permissionDenied(let text): "permission denied" + (text.isEmpty ? "" : ": \(text)")
        case .refused(let status, let message): message.isEmpty ? status : "\(status): \(message)"
        case .invalidURL(let text), .invalidPath(let text), .invalidValue(let text), .invalidQuery(let text),
            .typeMismatch(let text), .disconnected(let text), .connectionFailed(let text), .timedOut(let text),
            .cache(let text), .cacheInUse(let text), .cacheDamaged(let text), .rateExceeded(_, let text):
            text
        case .cancelled: "cancelled"
        case .overridden: "a later write replaced it"
        case .tooManyRetries: "too many attempts"
        case .writeCancelled: "the write was thrown away"
        case .slowReader: "events came faster than they were read"
        }
    }
}
