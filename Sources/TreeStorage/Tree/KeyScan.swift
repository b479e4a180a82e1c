import HearthJSONTree
import HearthSQLite
import HearthStorageErrors

/// Finds out which of many keys a table has. The keys come in ascending order, so a key between two neighbours of the
/// table needs no look-up, as all keys that are added at the end of a list do, and a key close after the last one costs
/// a step or two.
///
/// The table must not change from the first question until ``end()``.
final class KeyScan {
    private enum State {
        case ended
        /// At the first row from the last requested key on. The bytes of its key are valid until the next step.
        case row(UnsafeRawBufferPointer)
        case noMoreRows
    }

    private let select: Statement
    private var state = State.ended
    /// Steps after which it is better to look a key up. A key that was not found in so many is followed by others as
    /// far away.
    private var stepsMax = manySteps
    private static let manySteps = 8

    init(_ table: String, _ connection: Connection) throws(StorageError) {
        select = try connection.prepare("SELECT key, checksum FROM \(table) WHERE key >= ?1 ORDER BY key")
    }

    /// The checksum of the row with a key, which comes after all keys that were asked for before; nil if the table has
    /// no such row.
    func checksum(of key: [UInt8]) throws(StorageError) -> Int64? {
        try move(to: key)
        guard case .row(let found) = state else { return nil }
        return key.withUnsafeBytes { found.equalsBytewise($0) } ? select.integer(1) : nil
    }

    /// Whether the table has keys that begin with a key and are longer. That is the one that was last asked for.
    func hasKeys(below key: [UInt8]) throws(StorageError) -> Bool {
        if case .row(let found) = state, found.count == key.count, key.withUnsafeBytes({ found.equalsBytewise($0) }) {
            try step()
        }
        guard case .row(let found) = state, found.count > key.count else { return false }
        return key.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: found[..<key.count]).equalsBytewise($0) }
    }

    /// The table may change, and questions begin anew.
    func end() {
        select.reset()
        state = .ended
    }

    private func move(to key: [UInt8]) throws(StorageError) {
        var steps = 0
        while case .row(let found) = state, key.withUnsafeBytes({ found.precedesBytewise($0) }) {
            guard steps < stepsMax else {
                stepsMax = 1
                return try seek(to: key)
            }
            try step()
            steps += 1
        }
        if case .ended = state { return try seek(to: key) }
        if steps > 0 { stepsMax = Self.manySteps }
    }

    private func seek(to key: [UInt8]) throws(StorageError) {
        end()
        select.bind(1, key)
        try step()
    }

    private func step() throws(StorageError) {
        do throws(StorageError) {
            state = try select.step() ? .row(select.withBlob(0) { $0 }) : .noMoreRows
        } catch {
            end()
            throw error
        }
    }
}
