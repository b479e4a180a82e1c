package import HearthJSONTree
package import HearthSecurityRules
package import HearthStorageErrors

package enum Failure: Error, Hashable, Sendable {
    /// The precondition did not hold; the current value comes along.
    case stale(CanonicalJSON)
    /// A priority was set where there is no data.
    case nothingThere
    /// A query needs an index that is not there.
    case noIndex(QueryIndex, at: Path)
    /// What a query selects is larger than can be sent.
    case tooLarge
    /// Two children of a collection would share a value that the settings want unique.
    case notUnique(UniqueConflict)
    /// A setting does not allow it: a word for which one, and a text for people.
    case refusedBySetting(why: StaticText, String)
    /// A setting allows it later, in so many milliseconds; nil if it never allows that much at once. A text for people.
    case rateExceeded(retryAfter: Int64?, String)
    /// The rules do not allow it. The text says why, for developers; empty where clients are not to know.
    case denied(String)
    /// Storage refuses writes, or could not be read.
    case unavailable(StorageError)
    /// The request was refused before it reached the database: a status word and a text for people.
    case refused(status: StaticText, String)

    /// What a client is told of a denial besides its text: a word for a setting that is in the way; in development
    /// mode, why the rules have denied it.
    package var denialReason: String? {
        switch self {
        case .denied(let reason) where !reason.isEmpty: reason
        case .notUnique: "unique"
        case .refusedBySetting(let why, _): why.text.description
        case .rateExceeded: "rate"
        default: nil
        }
    }

    /// Milliseconds after which the same may succeed.
    package var retryAfter: Int64? { if case .rateExceeded(let time, _) = self { time } else { nil } }

    /// The text that clients know.
    package var message: String {
        switch self {
        case .stale: "the data changed: its hash does not match"
        case .nothingThere: "there is no data here that could have a priority"
        case .noIndex(let index, let path):
            "Index not defined, add \".indexOn\": \"\(index)\", for path \"\(path)\", to the rules"
        case .tooLarge: "the query selects too much data: narrow it or set a limit"
        case .denied: "Permission denied"
        case .notUnique(let conflict): conflict.message
        case .unavailable(let error): error.summary
        case .refused(_, let text), .refusedBySetting(_, let text), .rateExceeded(_, let text): text
        }
    }

    /// The result of a read. If storage cannot be read, that is ``unavailable(_:)``.
    static func reading<Value>(_ body: () throws(RuleTreeError) -> Value) throws(Failure) -> Value {
        do throws(RuleTreeError) {
            return try body()
        } catch {
            throw .unavailable(error.storageError)
        }
    }
}
