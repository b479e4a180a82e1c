import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// A location in a database, to read, write and observe its value. Creating one is cheap and sends nothing.
public struct DatabaseReference: Sendable {
    /// The database that the location is in.
    public let database: Database
    /// The path, or the error if its text was invalid.
    let place: Result<DatabasePlace, DatabaseError>

    /// The last key of the path; nil for the root.
    public var key: String? { (try? place.get())?.path.lastKey?.description }

    /// The path, with a slash before each key.
    public var path: String {
        guard let place = try? place.get() else { return "(no path)" }
        return (place.isInfo ? "/.info" : "") + (place.isInfo && place.path.isRoot ? "" : place.path.description)
    }

    /// The URL of the location, which ``Database/reference(fromURL:)`` reads: `http://host:port/rooms/lobby?ns=name`,
    /// or `https`. With an invalid path it is no URL.
    public var url: String {
        guard let place = try? place.get() else { return path }
        let address = database.address
        var keys = place.isInfo ? "/.info" : ""
        for key in place.path.keys { keys += "/" + DatabaseURL.encoded(key.utf8) }
        let name = address.database.isEmpty ? "" : "?ns=" + DatabaseURL.encoded(Array(address.database.utf8))
        return "\(address.usesTLS ? "https" : "http")://\(address.authority)\(keys.isEmpty ? "/" : keys)\(name)"
    }

    /// Nil for the root.
    public var parent: DatabaseReference? {
        guard case .success(let place) = place, let parent = place.path.parent else { return nil }
        return DatabaseReference(
            database: database, place: .success(DatabasePlace(path: parent, isInfo: place.isInfo)))
    }

    /// The root of the database.
    public var root: DatabaseReference {
        DatabaseReference(database: database, place: .success(DatabasePlace(path: .root)))
    }

    /// The location at a relative path, such as `lobby` or `lobby/title`.
    public func child(_ path: String) -> DatabaseReference {
        DatabaseReference(database: database, place: place.flatMap { DatabaseReference.place(path, below: $0) })
    }

    /// A child with a new key, greater than earlier ones, so that the children sort by time of creation.
    public func childByAutoId() -> DatabaseReference { child(database.makePushID()) }

    func child(_ key: Key) -> DatabaseReference {
        let child = place.map { DatabasePlace(path: $0.path.appending(key), isInfo: $0.isInfo) }
        return DatabaseReference(database: database, place: child)
    }

    private static func place(_ text: String, below base: DatabasePlace) -> Result<DatabasePlace, DatabaseError> {
        var base = base
        var rest = text[...]
        while rest.hasPrefix("/") { rest = rest.dropFirst() }
        if base.path.isRoot, !base.isInfo, rest == ".info" || rest.hasPrefix(".info/") {
            base.isInfo = true
            rest = rest.dropFirst(5)
        }
        do throws(PathError) {
            base.path = base.path.appending(try Path(parsing: String(rest)))
            if base.path.depth > Path.maximumDepth { throw .tooDeep }
            return .success(base)
        } catch {
            return .failure(.invalidPath("'\(text)' is not a path: \(error)"))
        }
    }

    /// The path, if it can be written to.
    func writablePath() throws(DatabaseError) -> Path {
        let place = try place.get()
        if place.isInfo { throw .invalidPath("locations below .info cannot be written") }
        return place.path
    }
}

extension DatabaseReference: Hashable {
    /// Whether both name the same location through the same client.
    public static func == (a: DatabaseReference, b: DatabaseReference) -> Bool {
        a.database === b.database && a.place == b.place
    }

    /// Hashes the location.
    public func hash(into hasher: inout Hasher) { hasher.combine(try? place.get()) }
}

extension DatabaseReference: CustomStringConvertible {
    /// The path.
    public var description: String { path }
}
