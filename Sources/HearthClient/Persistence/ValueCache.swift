import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

/// The values and pending writes that a client keeps for a later process. Used by one thread. Data that cannot be saved
/// is dropped; the client continues without it.
protocol ValueCache: AnyObject {
    /// The pending writes, in order, with their numbers.
    func writes() -> [(number: Int, request: ClientRequest)]

    func add(_ number: Int, _ request: ClientRequest)

    func removeWrite(_ number: Int)

    /// The last saved value of a listen: its own, or its part of the value of a place above, with the parts that were
    /// saved later.
    func value(of listen: ServerListen) -> SavedValue?

    /// Saves the values of listens, all or none.
    ///
    /// - parameter listens: whose values are kept longest if there are too many.
    func save(_ values: [CachedValue], at time: Int64, whileInUse listens: @autoclosure () -> [ServerListen])
}

/// The value of a listen, to be saved.
struct CachedValue {
    let listen: ServerListen
    let value: Node
    let position: CommitPosition
}

/// The saved value of a place, and the last commit that it includes.
typealias SavedValue = (value: Node, position: CommitPosition)

/// How a database gets its cache.
enum ValueCaches {
    /// - parameters:
    ///   - path: a file of its own.
    ///   - database: whose values these are. A file of another database is refused.
    static func open(_ path: String, database: String, bytesMax: Int) throws(DatabaseError) -> any ValueCache {
        #if Persistence
            return try CacheFile(path: path, database: database, bytesMax: bytesMax)
        #else
            throw .cache("\(path) cannot be used: HearthClient was built without its trait Persistence")
        #endif
    }
}
