import HearthSecurityRules
import HearthStorageErrors
import HearthTreeStorage

extension HistoryFile {
    /// With a clock that is right.
    func advance(_ definitions: [HistoryDefinition], now: Int64) throws(StorageError) -> Bool {
        try advance(definitions, wall: now, uptime: now)
    }
}
