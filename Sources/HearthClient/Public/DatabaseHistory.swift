import HearthClientSession
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol

/// A moment in the past of a database.
public struct DatabaseMoment: Hashable, Sendable {
    let moment: HistoryRequest.Moment

    /// After the last change that was made by this time, in milliseconds since 1970.
    public static func time(_ milliseconds: Int64) -> DatabaseMoment { DatabaseMoment(moment: .time(milliseconds)) }

    /// After the change with this number, see ``DatabaseHistory/Entry/number``.
    public static func change(_ number: UInt64) -> DatabaseMoment { DatabaseMoment(moment: .sequence(number)) }
}

/// Changes of a location, the newest first.
public struct DatabaseHistory: Hashable, Sendable {
    /// One change: a set, an update or a transaction.
    public struct Entry: Hashable, Sendable {
        /// Its number. Later changes have greater ones.
        public let number: UInt64
        /// When it was made, in milliseconds since 1970.
        public let time: Int64
        /// The user who made it; nil for administrators and unauthenticated clients.
        public let uid: String?
        /// The values that it set, by path: at most 100 locations. A value of more than 1000 bytes is nil.
        public let values: [String: DatabaseValue?]
        /// The number of further locations that it set.
        public let further: Int
    }

    /// In the order of their numbers, the newest first.
    public let entries: [Entry]
    /// The argument to get the entries before these; nil if there are none.
    public let before: UInt64?
}

/// The differences of a location between two moments.
public struct DatabaseDifferences: Hashable, Sendable {
    /// One of the deepest locations at which the values differed; null where there was no value.
    public struct Difference: Hashable, Sendable {
        /// Relative to the requested location.
        public let path: String
        /// The value at the first moment.
        public let before: DatabaseValue
        /// The value at the second moment.
        public let after: DatabaseValue
    }

    /// In the order of their paths.
    public let differences: [Difference]
    /// The number of further differences.
    public let further: Int
}

/// The history of locations for which the server's settings keep one. Administrators may read it, and users whom the
/// setting allows. These methods always ask the server, and wait for a connection if there is none.
extension DatabaseReference {
    /// The value at a moment.
    ///
    /// - throws: `permissionDenied`; `refused` with the status `not_found` where no history is kept, and `too_old` for
    ///   a moment from before it begins.
    public func getData(at moment: DatabaseMoment) async throws(DatabaseError) -> DataSnapshot {
        let text = try await history(.get(moment.moment), .question)
        guard let value = try? CanonicalJSON.parse(text).value else { throw Self.misunderstood }
        return DataSnapshot(Node(value), at: self)
    }

    /// The last changes at, above and below the location.
    ///
    /// - parameters:
    ///   - number: only changes before this one, see ``DatabaseHistory/before``.
    ///   - limit: the maximum number of changes.
    /// - throws: as ``getData(at:)``.
    public func getHistory(
        before number: UInt64? = nil, limit: Int = 20
    ) async throws(DatabaseError) -> DatabaseHistory {
        let answer = try await object(.log(before: number, limit: limit))
        let entries = (answer["entries"]?.array ?? []).compactMap(\.object).map { entry in
            var values: [String: DatabaseValue?] = [:]
            for change in (entry["changes"]?.array ?? []).compactMap(\.object) {
                guard let path = change["path"]?.utf8 else { continue }
                values.updateValue(
                    change["value"].map { DatabaseValue($0) }, forKey: String(decoding: path, as: UTF8.self))
            }
            return DatabaseHistory.Entry(
                number: UInt64(clamping: entry["seq"]?.integer ?? 0), time: entry["time"]?.integer ?? 0,
                uid: entry["uid"]?.utf8.map { String(decoding: $0, as: UTF8.self) }, values: values,
                further: Int(clamping: entry["more"]?.integer ?? 0))
        }
        return DatabaseHistory(entries: entries, before: answer["before"]?.integer.map { UInt64(clamping: $0) })
    }

    /// The differences between two moments; without the second one, between a moment and now.
    ///
    /// - throws: as ``getData(at:)``.
    public func getDifferences(
        from start: DatabaseMoment, to end: DatabaseMoment? = nil, limit: Int = 1000
    ) async throws(DatabaseError) -> DatabaseDifferences {
        let answer = try await object(.difference(from: start.moment, to: end?.moment, limit: limit))
        let differences = (answer["changes"]?.array ?? []).compactMap(\.object).map { change in
            DatabaseDifferences.Difference(
                path: change["path"]?.utf8.map { String(decoding: $0, as: UTF8.self) } ?? "/",
                before: change["before"].map { DatabaseValue($0) } ?? .null,
                after: change["after"].map { DatabaseValue($0) } ?? .null)
        }
        return DatabaseDifferences(differences: differences, further: Int(clamping: answer["more"]?.integer ?? 0))
    }

    /// Restores the value of a moment. This is an ordinary write, which the rules must allow and the history records.
    /// It is made at most once: after `disconnected` it is not known whether it was made.
    ///
    /// - throws: as ``getData(at:)`` and as writes do.
    public func restore(to moment: DatabaseMoment) async throws(DatabaseError) {
        _ = try await history(.restore(moment.moment), .transaction)
    }

    private static var misunderstood: DatabaseError {
        .refused(status: "failure", message: "the answer is not a history")
    }

    private func object(_ command: HistoryRequest.Command) async throws(DatabaseError) -> JSONObject {
        let answer = try await history(command, .question)
        guard let object = (try? JSONValue(parsing: answer))?.object else { throw Self.misunderstood }
        return object
    }

    private func history(
        _ command: HistoryRequest.Command, _ kind: OutgoingRequests.Kind
    ) async throws(DatabaseError) -> [UInt8] {
        let request = HistoryRequest(try writablePath(), command)
        return try await database.wait { core, reply in
            core.outgoing.add(.history(request), kind, isAbandoned: { reply.isSettled }) { result in
                reply.settle(result.map(\.data))
            }
        }
    }
}
