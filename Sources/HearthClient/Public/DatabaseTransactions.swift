import HearthClientSession
import HearthJSONTree
import Synchronization
import HearthWireProtocol

/// A transaction changes a value only if no other client changed it in between. The change is computed from the value
/// known here, and again from the server's value if that differs, up to 25 times. So the block may run several times,
/// and must only compute; it runs on the database's thread. The location is read before the first run.
///
/// A later plain write of this client to the same location ends an unsent transaction with `overridden`. A transaction
/// that was sent before the connection was lost ends with `disconnected`: it may have taken effect.
extension DatabaseReference {
    /// - parameter block: changes the value, and returns whether to make the change.
    /// - parameter completion: gets an error or nil, whether the change was made, and the value as for
    ///   ``runTransactionBlock(withLocalEvents:_:)``. Without it, errors are logged.
    /// - parameter withLocalEvents: whether observers see the change before the server has confirmed it.
    public func runTransactionBlock(
        _ block: @escaping @Sendable (inout MutableData) -> TransactionResult,
        andCompletionBlock completion: (@Sendable (DatabaseError?, Bool, DataSnapshot?) -> Void)? = nil,
        withLocalEvents: Bool = true
    ) {
        let reference = self
        begin(withLocalEvents, change: { .success(block(&$0).data) }) { outcome in
            switch outcome {
            case .success(let (isCommitted, value)):
                completion?(nil, isCommitted, DataSnapshot(value, at: reference))
            case .failure(let error):
                if completion == nil, error != .closed {
                    reference.database.core.options.log(.warning, "a transaction at \(reference) is not made: \(error)")
                }
                completion?(error, false, nil)
            }
        }
    }

    /// Whether the change was made, and the value that it made, with timestamps as estimated here. Without a change it
    /// is the present value.
    ///
    /// - throws: `permissionDenied`, `refused`, `invalidPath`, `invalidValue`, `overridden`, `tooManyRetries`,
    ///   `disconnected`, `writeCancelled`, `cancelled`.
    @discardableResult
    public func runTransactionBlock(
        withLocalEvents: Bool = true, _ block: @escaping @Sendable (inout MutableData) -> TransactionResult
    ) async throws(DatabaseError) -> (isCommitted: Bool, snapshot: DataSnapshot) {
        try await transaction(withLocalEvents) { (data) in .success(block(&data).data) }
    }

    /// Changes a value of another type; nil means that there is no value.
    ///
    ///     try await seats.transaction(of: Int.self) { count in
    ///         guard let left = count, left > 0 else { throw Full() }
    ///         count = left - 1
    ///     }
    ///
    /// Only members that the block changes are written: members that the type does not declare stay, and so do
    /// priorities. A block that changes nothing leaves the location unchanged; the outcome is then not committed.
    ///
    /// - throws: the block's errors, which end the transaction; `typeMismatch` for a value that cannot be decoded;
    ///   otherwise as ``runTransactionBlock(withLocalEvents:_:)``.
    @discardableResult
    public func transaction<Value: Codable & Sendable>(
        of type: Value.Type, withLocalEvents: Bool = true,
        _ change: @escaping @Sendable (inout Value?) throws -> Void
    ) async throws -> TransactionOutcome<Value> {
        let options = database.core.options
        let thrown = Mutex<(any Error)?>(nil)
        let (isCommitted, snapshot) = try await transaction(withLocalEvents) { data in
            Result { () throws(DatabaseError) in
                var value = data.node.isNull ? nil : try options.decoder.decode(type, from: data.node)
                func encoded() throws(DatabaseError) -> DatabaseValue {
                    guard let value else { return .null }
                    return try options.encoder.encode(value)
                }
                let old = try encoded()
                do { try change(&value) } catch {
                    thrown.withLock { $0 = error }
                    return nil
                }
                let new = try encoded()
                if old == new { return nil }
                try data.merge(old, new)
                return data
            }
        }
        if let error = thrown.withLock({ $0 }) { throw error }
        return TransactionOutcome(
            isCommitted: isCommitted, value: snapshot.exists() ? try snapshot.data(as: type) : nil)
    }

    typealias Change = @Sendable (inout MutableData) -> Result<MutableData?, DatabaseError>

    func transaction(
        _ isVisible: Bool, _ change: @escaping Change
    ) async throws(DatabaseError) -> (isCommitted: Bool, snapshot: DataSnapshot) {
        let (isCommitted, value): (Bool, Node) = try await database.wait(unasked: .writeCancelled) { reply in
            begin(isVisible, change: change) { reply.settle($0.map { ($0.isCommitted, $0.value) }) }
        }
        return (isCommitted, DataSnapshot(value, at: self))
    }

    /// `completion` is called on the database's thread.
    private func begin(
        _ isVisible: Bool, change: @escaping Change, completion: @escaping @Sendable (Transaction.Outcome) -> Void
    ) {
        let path = Result { () throws(DatabaseError) in try writablePath() }
        let key = key
        let keeper = database.makeObserverNumber()
        let isPosted = database.run { core in
            guard case .success(let path) = path else {
                if case .failure(let error) = path { completion(.failure(error)) }
                return
            }
            let transaction = Transaction(
                path: path, isVisible: isVisible,
                change: { node in
                    var data = MutableData(key: key, node: node)
                    return change(&data).flatMap { data in
                        Result { () throws(DatabaseError) in
                            try data.map { (data) throws(DatabaseError) in try data.assignment(at: path) }
                        }
                    }
                }, completion: completion)
            core.begin(transaction, keeper: keeper)
        }
        if !isPosted { completion(.failure(.closed)) }
    }
}
