import HearthClientSession

/// Why something that was asked of a database did not happen.
public enum DatabaseError: Error, Hashable, Sendable {
    /// The rules do not allow it.
    case permissionDenied(String)
    /// A setting of the server limits how often this may be done. It may succeed after this time; nil if it asks for
    /// more than is ever allowed at once.
    case rateExceeded(retryAfter: Duration?, String)
    /// The server refused it, with one of the words of the protocol and a text for people.
    case refused(status: String, message: String)
    /// The text is not the URL of a database.
    case invalidURL(String)
    /// A key has characters that no key may have, or the path is too deep.
    case invalidPath(String)
    /// The value cannot be stored: too large, too deep, a number that is not finite, …
    case invalidValue(String)
    /// The parts of a query do not fit together.
    case invalidQuery(String)
    /// A value is not of the type that it was to be decoded to.
    case typeMismatch(String)
    /// The connection was lost before the answer to a transaction, or the database was closed. Whether a transaction
    /// took effect is not known.
    case disconnected(String)
    /// There is no connection, and the last attempt failed for a reason that does not go away by itself, or the first
    /// four attempts failed; the text says why and what to do. A write or a transaction is still queued and goes on; a
    /// question is dropped.
    case connectionFailed(String)
    /// There was no answer within ``DatabaseOptions/requestTimeout``. A write or a transaction is still queued and goes
    /// on; a question is dropped.
    case timedOut(String)
    /// The task that waited was cancelled. A write or a transaction is still queued and goes on; one whose task was
    /// cancelled before is `writeCancelled`. A question is dropped.
    case cancelled
    /// A later write of this client to the same location made a transaction pointless.
    case overridden
    /// A transaction lost against others 25 times.
    case tooManyRetries
    /// The write is not made: it was thrown away by ``Database/purgeOutstandingWrites()``, or its task was cancelled
    /// before it was queued.
    case writeCancelled
    /// Events came faster than they were read.
    case slowReader
    /// The file to keep values and writes in cannot be used: it cannot be opened, or is of another database.
    case cache(String)
    /// Another process, or another database of this one, uses the file.
    case cacheInUse(String)
    /// The file is damaged, or not a file of this kind. It has to be removed; the writes in it are lost.
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
    /// One line for people.
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
