import HearthJSONTree

extension CanonicalJSON {
    /// Whether a value comes into the tree as text, with rows that were made beforehand: it has so many bytes, or it
    /// has so many members that taking them apart in a turn would keep others waiting. Costs a look at each byte of a
    /// value that is neither small nor that large.
    ///
    /// A single row is never large.
    func isLarge(_ bytesMin: Int, _ packing: RowPacking = RowPacking()) -> Bool {
        if packing.fits(self) { return false }
        if bytes.count >= bytesMin { return true }
        return bytes.count >= bytesMin / 16 && hasMembers(max(bytesMin / 128, 16))
    }

    /// Whether there are as many colons as so many members have, at every depth.
    private func hasMembers(_ count: Int) -> Bool {
        bytes.withUnsafeBytes { text in
            var left = count
            for byte in text where byte == UInt8(ascii: ":") {
                left -= 1
                if left == 0 { return true }
            }
            return false
        }
    }
}
