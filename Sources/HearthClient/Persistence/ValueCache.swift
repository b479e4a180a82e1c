import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

/// What a client keeps for a later process: the values that it was told, and its writes that the server has not
/// answered. Used by one thread. What cannot be kept is not; the client goes on without it.
protocol ValueCache: AnyObject {
    /// The writes that were not answered, in order, with their numbers.
    func writes() -> [(number: Int, request: ClientRequest)]

    func add(_ number: Int, _ request: ClientRequest)

    func removeWrite(_ number: Int)

    /// What a listen had when it was saved last: its own value, or its part of the whole value of a place above, with
    /// the parts that were saved later.
    func value(of listen: ServerListen) -> SavedValue?

    /// Saves what listens have, all or none.
    ///
    /// - parameter listens: whose values are kept longest if there are too many.
    func save(_ values: [CachedValue], at time: Int64, whileInUse listens: @autoclosure () -> [ServerListen])
}

/// What a listen has, to be saved.
struct CachedValue {
    let listen: ServerListen
    let value: Node
    let position: CommitPosition
}

/// What was saved of a place, and the last commit in it.
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
