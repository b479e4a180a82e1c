/// Checks UTF-8 that comes in pieces and says no at the first byte that nothing after it could mend.
package struct UTF8Validator: Sendable {
    /// How many continuation bytes the character under way still needs.
    private var missing = 0
    /// The possible next continuation bytes.
    private var next = continuation

    private static var continuation: ClosedRange<UInt8> { 0x80...0xBF }

    package init() {}

    /// Whether the bytes so far end between two characters.
    package var isComplete: Bool { missing == 0 }

    /// Takes the next piece; false if the text is invalid, after which the validator must not be asked again.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // In a local the state stays in registers.
        var state = self
        var index = 0
        while index < bytes.count {
            if state.missing == 0, bytes[index] < 0x80 {
                index = Self.skipASCII(bytes, from: index)
                continue
            }
            guard state.take(bytes[index]) else { return false }
            index += 1
        }
        self = state
        return true
    }

    /// Takes one byte that begins or continues a character of several.
    private mutating func take(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard next.contains(byte) else { return false }
            next = Self.continuation
            missing -= 1
            return true
        }
        guard let lead = UTF8Lead(byte) else { return false }
        (missing, next) = (lead.following, lead.second)
        return true
    }

    /// The first index from `start` that does not hold ASCII, or the end.
    private static func skipASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while bytes.count - index >= 32 {
            let a = ByteLanes.load(bytes, index) | ByteLanes.load(bytes, index + 8)
            let b = ByteLanes.load(bytes, index + 16) | ByteLanes.load(bytes, index + 24)
            guard ByteLanes.notASCII(a | b) == 0 else { break }
            index += 32
        }
        while bytes.count - index >= 8 {
            let marks = ByteLanes.notASCII(ByteLanes.load(bytes, index))
            guard marks == 0 else { return index + ByteLanes.first(marks) }
            index += 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index += 1 }
        return index
    }
}
