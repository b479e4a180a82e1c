extension DatabaseReference {
    /// Changes a value by a transaction that is repeated until its outcome is known. After 25 attempts that concurrent
    /// changes defeated it starts over. It survives lost connections if `isMade` can detect the change.
    ///
    ///     let id = database.makeKey()
    ///     let isEntered = try await visits.repeatingTransaction(isMade: { !$0[id].isNull }) { value in
    ///         value[id] = "ada"
    ///         return true
    ///     }
    ///
    /// Observers see the change only after the server has made it.
    ///
    /// - parameter isMade: whether a value already includes the change. If a connection is lost after the transaction
    ///   was sent, this check decides whether to repeat it, at most ten times. Without it, the error is `disconnected`,
    ///   and the change may have been made.
    /// - parameter change: makes the new value; returns false to leave the value unchanged. It may run several times on
    ///   the database's thread, and must only compute.
    /// - returns: whether the change was made.
    /// - throws: as ``runTransactionBlock(withLocalEvents:_:)``, but not `tooManyRetries`.
    public func repeatingTransaction(
        isMade: (@Sendable (DatabaseValue) -> Bool)? = nil,
        _ change: @escaping @Sendable (inout DatabaseValue) -> Bool
    ) async throws(DatabaseError) -> Bool {
        var losses = 0
        while true {
            // Only after a loss: an equal value made by another client is not this change.
            let wasMade = losses > 0 ? isMade : nil
            do throws(DatabaseError) {
                let (isCommitted, snapshot) = try await transaction(false) { data in
                    Result { () throws(DatabaseError) in
                        let old = data.value
                        if wasMade?(old) == true { return nil }
                        var new = old
                        guard change(&new) else { return nil }
                        // Parts that the change leaves alone keep their priorities and keys.
                        try data.merge(old, new)
                        return data
                    }
                }
                return isCommitted || wasMade?(snapshot.value) == true
            } catch {
                switch error {
                case .tooManyRetries: break
                case .disconnected where isMade != nil && losses < 10: losses += 1
                default: throw error
                }
            }
        }
    }
}
