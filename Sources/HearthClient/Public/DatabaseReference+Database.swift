import HearthClientSession
import HearthJSONTree

extension Database {
    /// The location that the URL names; the root if it has no path.
    public func reference() -> DatabaseReference {
        DatabaseReference(database: self, place: .success(DatabasePlace(path: address.path)))
    }

    /// The location at a path such as `rooms/lobby`, or below `.info`. With an invalid path, every operation on the
    /// reference fails with an error.
    public func reference(withPath path: String) -> DatabaseReference {
        DatabaseReference(database: self, place: .success(DatabasePlace(path: .root))).child(path)
    }

    /// The location of a URL of this database, in the form of ``DatabaseReference/url``. With a URL of another server
    /// or database, every operation on the reference fails with an error.
    public func reference(fromURL text: String) -> DatabaseReference {
        let (ordinary, isInfo) = Self.withoutInfo(text)
        do throws(DatabaseURLError) {
            let url = try DatabaseURL(ordinary)
            guard url.isSameServer(as: address), url.database == address.database else {
                return DatabaseReference(
                    database: self, place: .failure(.invalidURL("'\(text)' is not a URL of \(self.url)")))
            }
            return DatabaseReference(
                database: self, place: .success(DatabasePlace(path: url.path, isInfo: isInfo)))
        } catch {
            return DatabaseReference(database: self, place: .failure(.invalidURL(error.reason)))
        }
    }

    /// A URL without `.info`, which is not a key, at the beginning of its path.
    private static func withoutInfo(_ text: String) -> (url: String, isInfo: Bool) {
        let address = text.prefix { $0 != "?" }
        guard let host = address.firstRange(of: "://")?.upperBound, let slash = address[host...].firstIndex(of: "/"),
            case let path = address[slash...], path == "/.info" || path.hasPrefix("/.info/")
        else { return (text, false) }
        return ("\(address[..<slash])\(path.dropFirst("/.info".count))\(text[address.endIndex...])", true)
    }

    /// Writes that the server refuses, for programs that do not check each completion. Writes of an earlier process
    /// (``DatabaseOptions/persistenceFile``), which have no completion, are included. Until the first loop over this
    /// sequence begins, the last 1000 are kept for it. Ends when the database is closed.
    public var refusedWrites: some AsyncSequence<RefusedWrite, Never> & Sendable {
        core.refusedWrites.values().map { [self] refusal in
            let references = refusal.paths.map { path in
                DatabaseReference(database: self, place: .success(DatabasePlace(path: path)))
            }
            return RefusedWrite(references: references, error: refusal.error, isRestored: refusal.isRestored)
        }
    }
}

/// A write that the server has refused. Observers no longer see it.
public struct RefusedWrite: Sendable {
    /// The locations that it would have changed: one for a set, one or more for an update.
    public let references: [DatabaseReference]
    /// Why the server refused it.
    public let error: DatabaseError
    /// Whether it comes from an earlier process.
    public let isRestored: Bool
}
