import HearthJSONTree
import HearthSecurityRules
package import HearthStorageErrors

extension Database {
    /// Throws if a write gives two children of a collection a value that must be unique there. `assignments` are those
    /// of one commit, not applied yet; `prepared` are the rows of the first large value among them.
    func checkUnique(_ assignments: [Assignment], _ prepared: PreparedRows?) throws(Failure) {
        guard indexes.trie.hasUniques else { return }
        if let conflict = try indexes.uniqueConflict(assignments, prepared, in: rows) { throw .notUnique(conflict) }
    }

    /// The values that must be unique. Costs two look-ups per pair of duplicates that is named.
    package func uniqueStatus() throws(StorageError) -> [UniqueStatus] { try indexes.uniqueStatus(in: rows) }
}
