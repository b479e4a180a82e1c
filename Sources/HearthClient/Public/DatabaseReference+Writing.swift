import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

/// Called once with the result of a write: nil or the error.
public typealias WriteCompletion = @Sendable (DatabaseError?, DatabaseReference) -> Void

/// Observers of this client see writes at once; they are rolled back if the server refuses them. Without a connection,
/// writes wait and are sent in order. A write that was sent before the connection was lost is sent again, so an
/// increment may then count twice. A transaction is not.
///
/// The `async` forms return when the server has accepted the write. Cancelling the task ends the waiting, not the
/// write: `cancelled` means that it is still queued, `writeCancelled` that it is not made.
extension DatabaseReference {
    /// Replaces the value, its priority included. Null removes.
    ///
    /// - throws: `permissionDenied`, `refused`, `invalidPath`, `invalidValue`, `cancelled`, `disconnected`,
    ///   `writeCancelled`; all writes throw these.
    public func setValue(_ value: DatabaseValue, andPriority priority: DatabaseValue = nil) async throws(DatabaseError)
    {
        try await write(try setting(value, priority))
    }

    /// The same without waiting; the completion gets the result.
    public func setValue(
        _ value: DatabaseValue, andPriority priority: DatabaseValue = nil,
        withCompletionBlock completion: WriteCompletion? = nil
    ) {
        write({ () throws(DatabaseError) in try setting(value, priority) }, completion)
    }

    /// Replaces the value by one of any `Encodable` type.
    public func setValue<Value: Encodable & Sendable>(
        _ value: Value, andPriority priority: DatabaseValue = nil
    ) async throws(DatabaseError) {
        try await write(try setting(try encoded(value), priority))
    }

    /// The same without waiting; the completion gets the result.
    public func setValue<Value: Encodable & Sendable>(
        _ value: Value, andPriority priority: DatabaseValue = nil,
        withCompletionBlock completion: WriteCompletion? = nil
    ) {
        write({ () throws(DatabaseError) in try setting(try encoded(value), priority) }, completion)
    }

    /// Removes the value, including all children.
    public func removeValue() async throws(DatabaseError) { try await setValue(DatabaseValue.null) }

    /// The same without waiting; the completion gets the result.
    public func removeValue(withCompletionBlock completion: WriteCompletion? = nil) {
        setValue(DatabaseValue.null, withCompletionBlock: completion)
    }

    /// Replaces several locations below this one at once: either all or none. The keys are relative paths, none inside
    /// another.
    public func updateChildValues(_ values: [String: DatabaseValue]) async throws(DatabaseError) {
        try await write(try updating(values))
    }

    /// The same without waiting; the completion gets the result.
    public func updateChildValues(
        _ values: [String: DatabaseValue], withCompletionBlock completion: WriteCompletion? = nil
    ) {
        write({ () throws(DatabaseError) in try updating(values) }, completion)
    }

    /// Replaces the priority of the value: null, a number or a string.
    public func setPriority(_ priority: DatabaseValue) async throws(DatabaseError) {
        try await write(try settingPriority(priority))
    }

    /// The same without waiting; the completion gets the result.
    public func setPriority(_ priority: DatabaseValue, withCompletionBlock completion: WriteCompletion? = nil) {
        write({ () throws(DatabaseError) in try settingPriority(priority) }, completion)
    }

    // MARK: On disconnect

    /// Has the server replace the value when this client's connection ends for any reason. This applies to one
    /// connection: call it again after a reconnection.
    public func onDisconnectSetValue(
        _ value: DatabaseValue, andPriority priority: DatabaseValue = nil
    ) async throws(DatabaseError) {
        try await onDisconnect(try setting(value, priority))
    }

    /// The same without waiting; the completion is called when the server has accepted it.
    public func onDisconnectSetValue(
        _ value: DatabaseValue, andPriority priority: DatabaseValue = nil,
        withCompletionBlock completion: WriteCompletion? = nil
    ) {
        onDisconnect({ () throws(DatabaseError) in try setting(value, priority) }, completion)
    }

    /// Has the server remove the value, including all children, when the connection ends.
    public func onDisconnectRemoveValue() async throws(DatabaseError) { try await onDisconnectSetValue(.null) }

    /// The same without waiting; the completion is called when the server has accepted it.
    public func onDisconnectRemoveValue(withCompletionBlock completion: WriteCompletion? = nil) {
        onDisconnectSetValue(.null, withCompletionBlock: completion)
    }

    /// Has the server replace several locations below this one at once when the connection ends.
    public func onDisconnectUpdateChildValues(_ values: [String: DatabaseValue]) async throws(DatabaseError) {
        try await onDisconnect(try updating(values))
    }

    /// The same without waiting; the completion is called when the server has accepted it.
    public func onDisconnectUpdateChildValues(
        _ values: [String: DatabaseValue], withCompletionBlock completion: WriteCompletion? = nil
    ) {
        onDisconnect({ () throws(DatabaseError) in try updating(values) }, completion)
    }

    /// Cancels the on-disconnect writes at and below this location.
    public func cancelDisconnectOperations() async throws(DatabaseError) {
        try await onDisconnect(.cancel(try writablePath()))
    }

    /// The same without waiting; the completion is called when the server has accepted it.
    public func cancelDisconnectOperations(withCompletionBlock completion: WriteCompletion? = nil) {
        onDisconnect({ () throws(DatabaseError) in .cancel(try writablePath()) }, completion)
    }

    // MARK: Inside

    enum Write {
        case set(WireAssignment)
        case update(Path, [WireAssignment])
        case cancel(Path)

        func begin(_ core: DatabaseCore, _ completion: @escaping DatabaseCore.Settled) {
            switch self {
            case .set(let assignment): core.write([assignment], .put(assignment, hash: nil), completion: completion)
            case .update(_, []), .cancel: completion(.success(()))
            case .update(let base, let assignments):
                core.write(assignments, .merge(base, assignments), completion: completion)
            }
        }

        var onDisconnect: ClientRequest {
            switch self {
            case .set(let assignment): .onDisconnect(assignment)
            case .update(let base, let assignments): .onDisconnectMerge(base, assignments)
            case .cancel(let path): .cancelOnDisconnect(path)
            }
        }
    }

    func setting(_ value: DatabaseValue, _ priority: DatabaseValue) throws(DatabaseError) -> Write {
        let path = try writablePath()
        var (canonical, hasServerValues) = try value.canonical(depth: Path.maximumDepth - path.depth)
        if priority != .null {
            let priority = try Self.canonical(priority: priority)
            hasServerValues = hasServerValues || priority.hasServerValues
            canonical = canonical.settingPriority(priority.value, at: .root) ?? .null
        }
        let assignment = WireAssignment(
            target: WriteTarget(path: path), value: canonical, hasServerValues: hasServerValues)
        try WriteSize.check([assignment])
        return .set(assignment)
    }

    private static func canonical(
        priority: DatabaseValue
    ) throws(DatabaseError) -> (value: CanonicalJSON, hasServerValues: Bool) {
        let canonical = try priority.canonical()
        guard canonical.hasServerValues || canonical.value.isPriority else {
            throw .invalidValue("a priority is null, a number or a string")
        }
        return canonical
    }

    private func settingPriority(_ priority: DatabaseValue) throws(DatabaseError) -> Write {
        let path = try writablePath()
        let (value, hasServerValues) = try Self.canonical(priority: priority)
        let assignment = WireAssignment(
            target: WriteTarget(path: path, isPriority: true), value: value, hasServerValues: hasServerValues)
        try WriteSize.check([assignment])
        return .set(assignment)
    }

    func updating(_ values: [String: DatabaseValue]) throws(DatabaseError) -> Write {
        let base = try writablePath()
        let text = try DatabaseValue.object(values).jsonText()
        let assignments: [WireAssignment]
        do throws(RequestError) {
            assignments = try text.span.bytes.withUnsafeBytes { (text) throws(RequestError) in
                try WireAssignment.parse(text, base: base)
            }
        } catch {
            throw .invalidValue(error.message)
        }
        try WriteSize.check(assignments)
        return .update(base, assignments)
    }

    func write(_ write: Write) async throws(DatabaseError) {
        try await database.wait(unasked: .writeCancelled) { core, reply in write.begin(core) { reply.settle($0) } }
    }

    func onDisconnect(_ write: Write) async throws(DatabaseError) {
        try await database.wait(unasked: .writeCancelled) { core, reply in
            core.onDisconnect(write.onDisconnect) { reply.settle($0) }
        }
    }

    func write(_ make: () throws(DatabaseError) -> Write, _ completion: WriteCompletion?) {
        post("a write", make, completion) { write, core, completion in write.begin(core, completion) }
    }

    func onDisconnect(_ make: () throws(DatabaseError) -> Write, _ completion: WriteCompletion?) {
        post("an on-disconnect write", make, completion) { write, core, completion in
            core.onDisconnect(write.onDisconnect, completion: completion)
        }
    }

    /// Completions are always called on the database's thread, or on this one if that has ended. Without a completion,
    /// nobody would know of a write that cannot be made, so it is logged.
    ///
    /// - parameter what: names the write in the log.
    private func post(
        _ what: String, _ make: () throws(DatabaseError) -> Write, _ completion: WriteCompletion?,
        _ begin: @escaping @Sendable (Write, DatabaseCore, @escaping DatabaseCore.Settled) -> Void
    ) {
        let reference = self
        let write = Result { () throws(DatabaseError) in try make() }
        let isPosted = database.run { core in
            let done: DatabaseCore.Settled = { result in
                switch result {
                case .success: completion?(nil, reference)
                case .failure(let error): completion?(error, reference)
                }
            }
            switch write {
            case .success(let write): begin(write, core, done)
            case .failure(let error):
                if completion == nil { core.options.log(.warning, "\(what) at \(reference) is not made: \(error)") }
                done(.failure(error))
            }
        }
        if !isPosted { completion?(.closed, reference) }
    }
}
