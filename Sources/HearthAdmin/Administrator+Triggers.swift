import HearthJSONValues
import HearthServerProtocol

/// Triggers, and the events that their receivers did not take (administration.md 2). In a cluster they are at the node
/// that takes the writes of the database.
extension Administrator {
    /// The triggers of a database, by name.
    ///
    /// - parameter database: its name; nil for the server's default database.
    /// - throws: `notForAdministrators`, `unauthenticated`, `unavailable`, `cancelled`, like the other methods.
    public func triggers(ofDatabase database: String? = nil) async throws(AdminError) -> [TriggerStatus] {
        let answer = try await ask("list", trigger: nil, id: nil, limit: 0, database)
        return answer["triggers"]?.array?.compactMap { $0.object.flatMap(TriggerStatus.init) } ?? []
    }

    /// The events that were set aside.
    ///
    /// - parameters:
    ///   - trigger: a name; nil for all triggers.
    ///   - limit: the maximum number of events, up to 1,000.
    ///   - database: its name; nil for the server's default database.
    /// - throws: `invalidArgument` if this cannot be the name of a trigger; as ``triggers(ofDatabase:)``.
    public func setAsideEvents(
        ofTrigger trigger: String? = nil, limit: Int = 100, ofDatabase database: String? = nil
    ) async throws(AdminError) -> [SetAsideEvent] {
        let answer = try await ask("list", trigger: trigger, id: nil, limit: limit, database)
        return answer["events"]?.array?.compactMap { $0.object.flatMap(SetAsideEvent.init) } ?? []
    }

    /// Sends events that were set aside again.
    ///
    ///     for event in try await admin.setAsideEvents() where event.path.hasPrefix("/orders/") {
    ///         try await admin.replayEvents(ofTrigger: event.trigger, id: event.id)
    ///     }
    ///
    /// - parameters:
    ///   - trigger: the name of their trigger.
    ///   - id: that of one event; nil for all of the trigger.
    ///   - database: its name; nil for the server's default database.
    /// - returns: the number of events; 0 with an id if no such event was set aside.
    /// - throws: `other` if there is no such trigger, or if another node takes the writes; as
    ///   ``setAsideEvents(ofTrigger:limit:ofDatabase:)``.
    @discardableResult
    public func replayEvents(
        ofTrigger trigger: String, id: String? = nil, ofDatabase database: String? = nil
    ) async throws(AdminError) -> Int {
        try await change("replay", trigger, id, database)
    }

    /// Drops events that were set aside.
    ///
    /// - parameters:
    ///   - trigger: the name of their trigger.
    ///   - id: that of one event, which may also be one that waits; nil for all of the trigger that were set aside.
    ///   - database: its name; nil for the server's default database.
    /// - returns: the number of events; 0 with an id if there is no such event, or if it is being sent.
    /// - throws: as ``replayEvents(ofTrigger:id:ofDatabase:)``.
    @discardableResult
    public func dropEvents(
        ofTrigger trigger: String, id: String? = nil, ofDatabase database: String? = nil
    ) async throws(AdminError) -> Int {
        try await change("drop", trigger, id, database)
    }

    /// A request concerns a thousand events at most.
    private func change(
        _ wish: String, _ trigger: String, _ id: String?, _ database: String?
    ) async throws(AdminError) -> Int {
        var count = 0
        while true {
            let answer = try await ask(wish, trigger: trigger, id: id, limit: nil, database)
            let done = Int(clamping: answer["count"]?.integer ?? 0)
            count += done
            guard answer["more"] == .bool(true), done > 0 else { return count }
        }
    }

    private func ask(
        _ wish: String, trigger: String?, id: String?, limit: Int?, _ database: String?
    ) async throws(AdminError) -> JSONObject {
        try await requests.object(.triggers(wish: wish, name: trigger, id: id, limit: limit), ofDatabase: database)
    }
}
