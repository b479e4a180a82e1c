import HearthClientSession
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol

extension DatabaseQueryable {
    // MARK: Explaining

    /// Asks the server how it answers ``getPage(fields:)``: with which index, and how much it looks at.
    ///
    ///     let open = tasks.where(.child("state").isEqual(to: "open")).queryLimited(toFirst: 20)
    ///     let explanation = try await open.explain()
    ///     if let index = explanation.needs { print("missing in the settings: \".index\": [\(index)]") }
    ///
    /// For use during development: the server makes the page and sends it, so this costs as much as the page. The user
    /// must be allowed to read the whole location, not only the children that the query selects.
    ///
    /// - throws: as ``getPage(fields:)``; `connectionFailed` at once if the database is offline, because only the
    ///   server has the indexes.
    public func explain() async throws(DatabaseError) -> DatabaseExplanation {
        let query = query
        if let failure = query.failure { throw failure }
        return try await query.explanation(
            at: try query.ref.place.get(), try query.conditionObject(isExplained: true))
    }

    /// Asks the server how it answers ``getAggregates(_:of:)``.
    ///
    /// - throws: as ``getAggregates(_:of:)``; `connectionFailed` at once if the database is offline.
    public func explainAggregates(
        _ kinds: DatabaseAggregates.Kind..., of path: String? = nil
    ) async throws(DatabaseError) -> DatabaseExplanation {
        let (path, object) = try query.aggregates(kinds, of: path, isExplained: true)
        return try await query.explanation(at: DatabasePlace(path: path), object)
    }
}

/// How the server answers a query with conditions.
public struct DatabaseExplanation: Hashable, Sendable {
    /// The index that was used: `[["state","asc"],["due","asc"]]`, a path of `.indexOn` in the same form, or `.key` for
    /// that of the keys. Nil if the server looked at all children.
    public let index: String?
    /// How many entries of the index, or children, the server looked at.
    public let examined: Int
    /// The index that would serve the query best, as a member of `.index` in the settings. Nil if there is one, or if
    /// none would be better.
    public let needs: String?
}

extension DatabaseExplanation: CustomStringConvertible {
    /// A one-line description for people.
    public var description: String {
        let used = index.map { "index \($0)" } ?? "no index"
        return "\(used), \(examined) examined\(needs.map { ", needs \($0)" } ?? "")"
    }
}

extension DatabaseExplanation {
    /// Nil if the answer has no explanation.
    init?(_ answer: FoundPage) {
        guard let text = answer.explanation, let object = (try? JSONValue(parsing: Array(text.utf8)))?.object,
            let examined = object["examined"]?.integer
        else { return nil }
        self.init(index: object["index"]?.text, examined: Int(examined), needs: answer.needs)
    }
}

extension DatabaseQuery {
    fileprivate func explanation(
        at place: DatabasePlace, _ object: QueryObject
    ) async throws(DatabaseError) -> DatabaseExplanation {
        let answer: FoundPage = try await ref.database.wait { core, reply in
            if core.link.status.value == .offline {
                let text = "the database is offline, and only the server can explain a query"
                return reply.settle(.failure(.connectionFailed(text)))
            }
            // Figures have no children, but their explanation is where that of a page is.
            core.find(place, object, isAbandoned: { reply.isSettled }) { reply.settle($0) }
        }
        guard let explanation = DatabaseExplanation(answer) else {
            throw .refused(status: "failure", message: "the answer has no explanation")
        }
        return explanation
    }
}
