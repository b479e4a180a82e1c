import HearthClient

extension DatabaseReference {
    /// Changes a value by a transaction, however many others do the same.
    ///
    /// - parameter isMade: whether a value has the change in it already. With it the transaction is made again if the
    ///   connection was lost before the answer; without, that is the error `disconnected`, and the change may be made.
    /// - parameter change: makes the new value; false to leave it as it is.
    /// - returns: whether it was changed.
    func committing(
        isMade: (@Sendable (DatabaseValue) -> Bool)? = nil,
        _ change: @escaping @Sendable (inout DatabaseValue) -> Bool
    ) async throws(DatabaseError) -> Bool {
        var losses = 0
        while true {
            do throws(DatabaseError) {
                let (isCommitted, snapshot) = try await runTransactionBlock(withLocalEvents: false) { data in
                    change(&data.value) ? .success(withValue: data) : .abort()
                }
                return isCommitted || losses > 0 && isMade?(snapshot.value) == true
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
