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
        /// Who made it; nil for administrators and for somebody who was not signed in.
        public let uid: String?
        /// What it set, by path: at most one hundred locations. A value of more than 1000 bytes is nil.
        public let values: [String: DatabaseValue?]
        /// How many locations it set besides.
        public let further: Int
    }

    /// In the order of their numbers, the newest first.
    public let entries: [Entry]
    /// What to ask for the entries before these; nil if there are none.
    public let before: UInt64?
}

/// Where a location differed at two moments.
public struct DatabaseDifferences: Hashable, Sendable {
    /// One of the deepest locations at which the values differed; null where nothing was.
    public struct Difference: Hashable, Sendable {
        /// Relative to the location that was asked for.
        public let path: String
        /// The value at the first moment.
        public let before: DatabaseValue
        /// The value at the second moment.
        public let after: DatabaseValue
    }

    /// In the order of their paths.
    public let differences: [Difference]
    /// How many there are besides.
    public let further: Int
}

/// The past of locations whose history the settings of the server keep. Administrators may read it, and those whom the
/// setting lets. The server is asked in any case: without a connection these methods wait for one.
extension DatabaseReference {
    /// The value as it was at a moment.
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
    ///   - limit: so many changes at most.
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

    /// Where the value differed at two moments; without the second one, between a moment and now.
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

    /// Sets the location to what it was at a moment: an ordinary write, which the rules must allow, and a further
    /// change of the history. It happens once at most: `disconnected` says that it is not known whether it did.
    ///
    /// - throws: as ``getData(at:)`` and as writes do.
    public func restore(to moment: DatabaseMoment) async throws(DatabaseError) {
        _ = try await history(.restore(moment.moment), .transaction)
    }

    private static var misunderstood: DatabaseError {
        .refused(status: "failure", message: "the answer is no history")
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
