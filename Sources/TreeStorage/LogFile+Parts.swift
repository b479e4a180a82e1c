package import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors

extension LogFile {
    /// Begins to store a text in parts, of which there may be one at a time.
    package func beginParts() -> UInt64 { parts.begin() }

    /// Stores a part in a transaction of its own, and answers its checksum.
    package func append(
        _ range: Range<Int>, of text: CanonicalJSON, number: Int, batch: UInt64
    ) throws(StorageError) -> UInt64 {
        let bytes = text.bytes
        let checksum = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StorageError) in
            try parts.write(UnsafeRawBufferPointer(rebasing: bytes[range]), number, of: batch)
        }
        // Little at a time, so that no commit has to copy much into the main file.
        try? connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return checksum
    }

    /// No record will be made of the parts that were stored last.
    package func dropParts() { parts.end() }
}
