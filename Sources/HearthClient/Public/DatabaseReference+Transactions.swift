import JSONTree
import WireProtocol

/// The value that a transaction changes.
public struct MutableData: Sendable {
    /// The last key of the place; nil for the root.
    public let key: String?
    /// Null if there is nothing.
    public var value: DatabaseValue
    /// Null, a number or a string.
    public var priority: DatabaseValue
}

/// What a transaction's block wants.
public struct TransactionResult: Sendable {
    let data: MutableData?

    /// The value is to be this one.
    public static func success(withValue data: MutableData) -> TransactionResult { TransactionResult(data: data) }

    /// Nothing is to be changed.
    public static func abort() -> TransactionResult { TransactionResult(data: nil) }
}

/// A transaction changes a value that nobody else changed in between: it is made on what is known here, and made again
/// when the server has something else, up to 25 times. So the block may run several times and does nothing but compute;
/// it runs on the database's thread. Before it runs the first time, the place is read.
///
/// A later plain write of this client to the same place ends a transaction that was not sent, with `overridden`. One
/// that was sent when the connection is lost ends with `disconnected`: it may have taken effect.
extension DatabaseReference {
    /// - parameter completion: an error or nil, whether the change was made, and the value then.
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
            case .failure(let error): completion?(error, false, nil)
            }
        }
    }

    /// Whether the change was made, and the value then.
    ///
    /// - throws: `permissionDenied`, `refused`, `invalidPath`, `invalidValue`, `overridden`, `tooManyRetries`,
    ///   `disconnected`, `writeCancelled`, `cancelled`.
    @discardableResult
    public func runTransactionBlock(
        withLocalEvents: Bool = true, _ block: @escaping @Sendable (inout MutableData) -> TransactionResult
    ) async throws(DatabaseError) -> (isCommitted: Bool, snapshot: DataSnapshot) {
        try await transaction(withLocalEvents) { (data) in .success(block(&data).data) }
    }

    /// Changes a value of a type of one's own; nil is nothing. An error that the block throws as a `DatabaseError` ends
    /// the transaction.
    ///
    ///     let likes = try await post.child("likes").transaction(of: Int.self) { $0 = ($0 ?? 0) + 1 }
    ///
    /// - returns: the value then.
    @discardableResult
    public func transaction<Value: Codable & Sendable>(
        of type: Value.Type, withLocalEvents: Bool = true,
        _ change: @escaping @Sendable (inout Value?) throws(DatabaseError) -> Void
    ) async throws(DatabaseError) -> Value? {
        let (_, snapshot) = try await transaction(withLocalEvents) { data in
            Result { () throws(DatabaseError) in
                let (canonical, _) = try data.value.canonical()
                var value = data.value.isNull ? nil : try DatabaseDecoder.decode(type, from: Node(canonical))
                try change(&value)
                data.value =
                    try value.map { (value) throws(DatabaseError) in try DatabaseEncoder.encode(value) } ?? .null
                return data
            }
        }
        return snapshot.exists() ? try snapshot.data(as: type) : nil
    }

    private typealias Change = @Sendable (inout MutableData) -> Result<MutableData?, DatabaseError>

    private func transaction(
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
        let (key, reference) = (key, self)
        let keeper = database.makeObserverNumber()
        let isPosted = database.run { core in
            guard case .success(let path) = path else {
                if case .failure(let error) = path { completion(.failure(error)) }
                return
            }
            let transaction = Transaction(
                path: path, isVisible: isVisible,
                change: { node in
                    var data = MutableData(
                        key: key, value: DatabaseValue(node),
                        priority: node.priority.map { DatabaseValue($0) } ?? .null)
                    return change(&data).flatMap { data in
                        Result { () throws(DatabaseError) in
                            try data.map { (data) throws(DatabaseError) in
                                try reference.setting(data.value, data.priority)
                            }
                        }
                    }
                }, completion: completion)
            core.begin(transaction, keeper: keeper)
        }
        if !isPosted { completion(.failure(.closed)) }
    }
}
