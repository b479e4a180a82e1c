/// Writes of values of other types: members of different types in one dictionary, and models in on-disconnect writes.
/// They behave like those of ``DatabaseValue``, and throw `invalidValue` for values that cannot be converted.
extension DatabaseReference {
    /// Replaces the value by an object with members of any convertible types; nil leaves a member out.
    ///
    ///     try await room.setValue(["title": title, "seats": seats, "at": ServerValue.timestamp()])
    public func setValue(
        _ members: [String: (any DatabaseValueConvertible)?], andPriority priority: DatabaseValue = nil
    ) async throws(DatabaseError) {
        try await setValue(try object(members), andPriority: priority)
    }

    /// Replaces the value by an object with members of any convertible types, without waiting. The completion gets the
    /// result.
    public func setValue(
        _ members: [String: (any DatabaseValueConvertible)?], andPriority priority: DatabaseValue = nil,
        withCompletionBlock completion: WriteCompletion? = nil
    ) {
        write({ () throws(DatabaseError) in try setting(try object(members), priority) }, completion)
    }

    /// Replaces several locations below this one at once: either all or none. The keys are relative paths, the values
    /// of any convertible types; nil removes.
    public func updateChildValues(
        _ values: [String: (any DatabaseValueConvertible)?]
    ) async throws(DatabaseError) {
        try await write(try updating(try converted(values)))
    }

    /// Replaces several locations below this one at once, without waiting. The completion gets the result.
    public func updateChildValues(
        _ values: [String: (any DatabaseValueConvertible)?], withCompletionBlock completion: WriteCompletion? = nil
    ) {
        write({ () throws(DatabaseError) in try updating(try converted(values)) }, completion)
    }

    /// Replaces the priority of the value: a number or a string.
    public func setPriority(_ priority: some DatabaseValueConvertible) async throws(DatabaseError) {
        try await setPriority(try priority.databaseValue)
    }

    // MARK: On disconnect

    /// Has the server replace the value by one of another type when this client's connection ends.
    public func onDisconnectSetValue<Value: Encodable & Sendable>(
        _ value: Value, andPriority priority: DatabaseValue = nil
    ) async throws(DatabaseError) {
        try await onDisconnect(try setting(try encoded(value), priority))
    }

    /// Has the server replace the value by one of another type when this client's connection ends, without waiting. The
    /// completion is called when the server has accepted it.
    public func onDisconnectSetValue<Value: Encodable & Sendable>(
        _ value: Value, andPriority priority: DatabaseValue = nil,
        withCompletionBlock completion: WriteCompletion? = nil
    ) {
        onDisconnect({ () throws(DatabaseError) in try setting(try encoded(value), priority) }, completion)
    }

    /// Has the server replace the value by an object with members of any convertible types when the connection ends.
    public func onDisconnectSetValue(
        _ members: [String: (any DatabaseValueConvertible)?], andPriority priority: DatabaseValue = nil
    ) async throws(DatabaseError) {
        try await onDisconnectSetValue(try object(members), andPriority: priority)
    }

    /// Has the server replace several locations below this one at once when the connection ends. Nil removes.
    public func onDisconnectUpdateChildValues(
        _ values: [String: (any DatabaseValueConvertible)?]
    ) async throws(DatabaseError) {
        try await onDisconnect(try updating(try converted(values)))
    }

    /// Has the server replace several locations below this one at once when the connection ends, without waiting. The
    /// completion is called when the server has accepted it.
    public func onDisconnectUpdateChildValues(
        _ values: [String: (any DatabaseValueConvertible)?], withCompletionBlock completion: WriteCompletion? = nil
    ) {
        onDisconnect({ () throws(DatabaseError) in try updating(try converted(values)) }, completion)
    }

    // MARK: Inside

    func encoded(_ value: some Encodable) throws(DatabaseError) -> DatabaseValue {
        try database.core.options.encoder.encode(value)
    }

    private func object(_ members: [String: (any DatabaseValueConvertible)?]) throws(DatabaseError) -> DatabaseValue {
        .object(try converted(members))
    }

    private func converted(
        _ values: [String: (any DatabaseValueConvertible)?]
    ) throws(DatabaseError) -> [String: DatabaseValue] {
        try database.core.options.encoder.making { () throws(DatabaseError) in
            var converted: [String: DatabaseValue] = [:]
            for (path, value) in values { converted[path] = try value?.databaseValue ?? .null }
            return converted
        }
    }
}
