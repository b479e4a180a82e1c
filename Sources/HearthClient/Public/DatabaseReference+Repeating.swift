extension DatabaseReference {
    /// Changes a value by a transaction that is repeated until its outcome is known: after 25 attempts that others
    /// overtook it begins again, and it outlives lost connections if `isMade` can tell whether the change was made.
    ///
    ///     let id = database.makeKey()
    ///     let isEntered = try await visits.repeatingTransaction(isMade: { !$0[id].isNull }) { value in
    ///         value[id] = "ada"
    ///         return true
    ///     }
    ///
    /// Observers do not see the change before the server has made it.
    ///
    /// - parameter isMade: whether a value has the change in it already. With it, a transaction that was sent when the
    ///   connection was lost is looked for and, if it was not made, repeated, at most ten times. Without it that is
    ///   `disconnected`, and the change may have been made.
    /// - parameter change: makes the new value; false to leave the value as it is. It runs several times and does
    ///   nothing but compute; it runs on the database's thread.
    /// - returns: whether the change was made.
    /// - throws: as ``runTransactionBlock(withLocalEvents:_:)``, but not `tooManyRetries`.
    public func repeatingTransaction(
        isMade: (@Sendable (DatabaseValue) -> Bool)? = nil,
        _ change: @escaping @Sendable (inout DatabaseValue) -> Bool
    ) async throws(DatabaseError) -> Bool {
        var losses = 0
        while true {
            // Only after a loss: a value that somebody else made like it is not this change.
            let wasMade = losses > 0 ? isMade : nil
            do throws(DatabaseError) {
                let (isCommitted, snapshot) = try await transaction(false) { data in
                    Result { () throws(DatabaseError) in
                        let old = data.value
                        if wasMade?(old) == true { return nil }
                        var new = old
                        guard change(&new) else { return nil }
                        // What the change leaves alone keeps its priorities and its keys.
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
