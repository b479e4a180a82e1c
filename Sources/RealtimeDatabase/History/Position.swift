/// A place in the history of a database: right after the operation of this number (Protocol.md 18.2).
///
/// The epoch tells apart numbers that were given out twice (``Epochs``).
package struct Position: Hashable, Sendable {
    package var epoch: UInt64
    package var sequence: UInt64

    package init(epoch: UInt64, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// `epoch:sequence`: sixteen hexadecimal digits, a colon, a decimal number.
    package var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(28)
        for shift in stride(from: 60, through: 0, by: -4) { text.append(Self.digits[Int(epoch >> UInt64(shift) & 15)]) }
        text.append(UInt8(ascii: ":"))
        text.append(contentsOf: String(sequence).utf8)
        return text
    }

    /// Nil for what is not the text of one.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count > 17, text.count <= 17 + 19 else { return nil }
        var epoch: UInt64 = 0
        for byte in text.prefix(16) {
            guard let digit = Self.digits.firstIndex(of: byte) else { return nil }
            epoch = epoch << 4 | UInt64(digit)
        }
        let decimal = text.dropFirst(17)
        guard text.dropFirst(16).first == UInt8(ascii: ":"), decimal.first != UInt8(ascii: "0") || decimal.count == 1
        else { return nil }
        var sequence: UInt64 = 0
        for byte in decimal {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            // Nineteen digits fit.
            sequence = sequence * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
        self.init(epoch: epoch, sequence: sequence)
    }
}

/// What a listener that wants to be told of positions says of what it has.
package enum Since: Hashable, Sendable {
    case nothing
    /// What was there at this point.
    case position(Position)
}
