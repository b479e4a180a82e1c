import HearthSQLite
import HearthStorageErrors

/// Transactions of which all or a part is undone.
extension Connection {
    /// Runs `body` in one transaction, and undoes all that it did.
    func rehearsal<Result>(_ body: () throws(StorageError) -> Result) throws(StorageError) -> Result {
        try execute("BEGIN IMMEDIATE")
        let outcome = Swift.Result { () throws(StorageError) in try body() }
        // A full disk ends the transaction by itself, and later statements were not undone.
        guard isInTransaction else { throw .inputOutput("a transaction has ended by itself") }
        try execute("ROLLBACK")
        return try outcome.get()
    }

    /// Runs `body` inside a transaction so that all it did is undone when it throws, and nothing else.
    func savepoint<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        // These fail only if the whole transaction has ended by itself, which its end then reports.
        try? execute("SAVEPOINT part")
        do throws(Failure) {
            let result = try body()
            try? execute("RELEASE part")
            return result
        } catch {
            try? execute("ROLLBACK TO part; RELEASE part")
            throw error
        }
    }
}
