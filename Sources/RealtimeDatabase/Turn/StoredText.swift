package import HearthJSONTree

/// A large text that the log has already, in parts that belong to nothing yet: the record that is made of it only
/// refers to them.
package final class StoredText: Sendable {
    package let text: CanonicalJSON
    /// The parts' common number in the log.
    package let batch: UInt64
    /// A checksum of each part, in order.
    package let checksums: [UInt64]

    package init(_ text: CanonicalJSON, batch: UInt64, checksums: [UInt64]) {
        self.text = text
        self.batch = batch
        self.checksums = checksums
    }

    /// Bytes of a part; the last one has the rest.
    package static let partBytes = 256 << 10

    /// Texts from this size on are stored in parts, so that no other commit waits for the whole of one.
    package static let bytesMin = 1 << 20

    /// The bytes of the n-th part, nil after the last one.
    package static func part(_ number: Int, of text: CanonicalJSON) -> Range<Int>? {
        let start = number * partBytes
        return start < text.bytes.count ? start..<min(start + partBytes, text.bytes.count) : nil
    }
}
