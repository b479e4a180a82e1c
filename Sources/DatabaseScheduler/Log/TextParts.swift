package import HearthJSONTree
package import HearthRealtimeDatabase

/// A large text on its way to the log, part by part: other records can be committed after each part.
package struct TextParts: Sendable {
    package let text: CanonicalJSON
    /// The parts' common number in the log; nil before the first one.
    package private(set) var batch: UInt64?
    private var checksums: [UInt64] = []

    package init(_ text: CanonicalJSON) { self.text = text }

    /// The number of the next part, and its bytes; nil once the log has all parts.
    package var next: (number: Int, range: Range<Int>)? {
        StoredText.part(checksums.count, of: text).map { (checksums.count, $0) }
    }

    /// The log has the next part.
    package mutating func append(checksum: UInt64, batch: UInt64) {
        self.batch = batch
        checksums.append(checksum)
    }

    /// The text, once the log has all of it.
    package var stored: StoredText? {
        guard let batch, next == nil else { return nil }
        return StoredText(text, batch: batch, checksums: checksums)
    }
}
