package import HearthSecurityRules
package import HearthStorageErrors

/// The indexes, as the scheduler and the operations use them.
extension Database {
    /// Some index does not have all its entries yet, or values that must be unique have not all been looked at.
    package var isBuildingIndex: Bool { indexes.isBuilding }

    /// Adds some entries of indexes that are not complete: those of up to `childrenMax` children. Costs about one row
    /// per child.
    package func buildIndex(childrenMax: Int = 200) throws(StorageError) {
        if refusal == nil, tornBy == nil { try indexes.build(childrenMax: childrenMax, in: rows) }
    }

    /// Numbers of indexes whose definition was removed, and to which the store will add no more entries: they should be
    /// removed.
    package var droppedIndexes: Set<UInt32> { indexes.sweepable }

    /// The store has no entries of these indexes any more.
    package func forgetDroppedIndexes(_ numbers: Set<UInt32>) { indexes.forgetDropped(numbers) }

    /// Sets the indexes of the rules, and the unique values and counters of the settings.
    package func setIndexes(_ definitions: [IndexDefinition], _ settings: DatabaseSettings = DatabaseSettings()) {
        if settings.rateLimits != indexes.settings.rateLimits { rates = RateTable() }
        indexes.set(definitions, settings)
        workers.claims.lookAgain()
        outbox.setTriggers(settings.triggers)
    }
}
