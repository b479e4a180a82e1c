import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors

/// The replies to writes, as bytes.
///
/// ```
/// reply   = 0 | 1 value:bytes | 2 failure                    done; what was stored; not done
/// failure = 0 value:bytes                                    stale
///         | 1 | 2                                            no data that could have a priority; too large
///         | 3 collection:bytes index                         not unique
///         | 4 why:bytes text:bytes | 5 text:bytes            refused by a setting; denied
///         | 6 status:bytes text:bytes                        refused
///         | 7 error                                          storage
/// index   = 0 | 1 | 2 | 3 path:bytes | 4                     key, value, priority, a child's path, several values
/// error   = 0 | 1 | 2 | 3 node:bytes | 4 | 5 text:bytes      full, no quorum, no owner, owned by a node, stopping;
///                                                            another one, for clients
/// ```
extension MessageWriter {
    mutating func add(_ reply: Reply) {
        switch reply {
        case .done: add(byte: 0)
        case .value(let value):
            add(byte: 1)
            add(value.bytes)
        case .failed(let failure):
            add(byte: 2)
            add(failure)
        case .listening, .listeningUnindexed, .listeningAt, .explained:
            preconditionFailure("the reply to a request that every node does itself")
        }
    }

    private mutating func add(_ failure: Failure) {
        switch failure {
        case .stale(let value):
            add(byte: 0)
            add(value.bytes)
        case .nothingThere: add(byte: 1)
        case .tooLarge: add(byte: 2)
        case .notUnique(let conflict):
            add(byte: 3)
            add(conflict.collection.encoded)
            add(conflict.index)
        case .refusedBySetting(let why, let text):
            add(byte: 4)
            add(why.text.description)
            add(text)
        case .rateExceeded(let retryAfter, let text):
            add(byte: 8)
            add(retryAfter.map { "\($0)" } ?? "")
            add(text)
        case .denied(let text):
            add(byte: 5)
            add(text)
        case .refused(let status, let text):
            add(byte: 6)
            add(status.text.description)
            add(text)
        case .noIndex:
            add(byte: 6)
            add("error")
            add(failure.message)
        case .unavailable(let error):
            add(byte: 7)
            add(error)
        }
    }

    private mutating func add(_ index: QueryIndex) {
        switch index {
        case .key: add(byte: 0)
        case .value: add(byte: 1)
        case .priority: add(byte: 2)
        case .child(let path):
            add(byte: 3)
            add(path.encoded)
        case .conditions, .unexpired: add(byte: 4)
        }
    }

    private mutating func add(_ error: StorageError) {
        switch error {
        case .full: add(byte: 0)
        case .noQuorum: add(byte: 1)
        case .ownedElsewhere(nil): add(byte: 2)
        case .ownedElsewhere(let node?):
            add(byte: 3)
            add(node)
        case .stopping: add(byte: 4)
        case .readOnly, .inputOutput, .damaged, .newerFormat, .busy, .overloaded, .interruptedRestore, .replaced,
            .etcdFull:
            add(byte: 5)
            add(error.summary)
        }
    }
}

extension MessageReader {
    mutating func reply() throws(MalformedMessage) -> Reply {
        switch try byte() {
        case 0: .done
        case 1: .value(try value())
        case 2: .failed(try failure())
        default: throw MalformedMessage()
        }
    }

    private mutating func value() throws(MalformedMessage) -> CanonicalJSON { CanonicalJSON(trusted: try slice()) }

    private mutating func failure() throws(MalformedMessage) -> Failure {
        switch try byte() {
        case 0: return .stale(try value())
        case 1: return .nothingThere
        case 2: return .tooLarge
        case 3:
            let collection = try path()
            return .notUnique(UniqueConflict(collection: collection, index: try index()))
        case 4:
            let why = try word(of: ["counter", "sum", "maxChildren", "queue"])
            return .refusedBySetting(why: why, try text())
        case 5: return .denied(try text())
        case 6:
            let status = try word(of: [
                "too_big", "permission_denied", "invalid_argument", "unavailable", "lease_lost", "job_gone", "error",
            ])
            return .refused(status: status, try text())
        case 7: return .unavailable(try storageError())
        case 8: return .rateExceeded(retryAfter: Int64(try text()), try text())
        default: throw MalformedMessage()
        }
    }

    /// A word that this version knows; of another one it knows nothing but that it is an error.
    private mutating func word(of known: [StaticString]) throws(MalformedMessage) -> StaticText {
        let word = try text()
        return StaticText(known.first { $0.description == word } ?? "error")
    }

    private mutating func index() throws(MalformedMessage) -> QueryIndex {
        switch try byte() {
        case 0: .key
        case 1: .value
        case 2: .priority
        case 3: .child(try path())
        case 4: .conditions(ConditionQuery([]))
        default: throw MalformedMessage()
        }
    }

    private mutating func storageError() throws(MalformedMessage) -> StorageError {
        switch try byte() {
        case 0: .full
        case 1: .noQuorum
        case 2: .ownedElsewhere(node: nil)
        case 3: .ownedElsewhere(node: try text())
        case 4: .stopping
        case 5: .overloaded(try text())
        default: throw MalformedMessage()
        }
    }
}
