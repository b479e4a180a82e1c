import JSONTree
import RealtimeDatabase
import TreeStorage
import StorageErrors

/// A large text on its way to the log, part by part: after each one others may commit.
struct TextParts: Sendable {
    let text: CanonicalJSON
    private var batch: UInt64?
    private var checksums: [UInt64] = []

    init(_ text: CanonicalJSON) { self.text = text }

    /// Stores the next part; on the thread of the log.
    func storingNext(in log: LogFile) throws(StorageError) -> TextParts {
        guard let range = StoredText.part(checksums.count, of: text) else { return self }
        var next = self
        let batch = batch ?? log.beginParts()
        next.batch = batch
        next.checksums.append(try log.append(range, of: text, number: checksums.count, batch: batch))
        return next
    }

    /// The text, once the log has all of it.
    var stored: StoredText? {
        guard let batch, StoredText.part(checksums.count, of: text) == nil else { return nil }
        return StoredText(text, batch: batch, checksums: checksums)
    }
}
