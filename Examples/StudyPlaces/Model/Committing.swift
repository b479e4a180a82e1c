import HearthClient

extension DatabaseReference {
    /// Changes a value by a transaction, however many others do the same.
    ///
    /// - parameter change: makes the new value; false to leave it as it is.
    /// - returns: whether it was changed.
    func committing(
        _ change: @escaping @Sendable (inout DatabaseValue) -> Bool
    ) async throws(DatabaseError) -> Bool {
        while true {
            do throws(DatabaseError) {
                return try await runTransactionBlock(withLocalEvents: false) { data in
                    change(&data.value) ? .success(withValue: data) : .abort()
                }.isCommitted
            } catch {
                guard error == .tooManyRetries else { throw error }
            }
        }
    }
}
