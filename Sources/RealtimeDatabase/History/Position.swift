import HearthBytes

/// A place in the history of a database: right after the operation of this number (Protocol.md 18.2).
///
/// A number can be given out twice: by a log that has lost its end, or was replaced by an older copy. The epoch tells
/// the two apart where each run of a server begins one (``Epochs``), and the check does in any case.
package struct Position: Hashable, Sendable {
    package var epoch: UInt64
    package var sequence: UInt64
    /// The last 32 bits of the time of the commit. Nil where that is not known, and before the first operation.
    ///
    /// It is made of nothing that was written: a client may not read everything, and could guess what gives a check.
    package var check: UInt32?

    /// - parameter time: of the commit with this operation, in milliseconds since 1970; nil if it is not known.
    package init(epoch: UInt64, sequence: UInt64, time: Int64?) {
        self.epoch = epoch
        self.sequence = sequence
        check = sequence == 0 ? nil : time.map { UInt32(truncatingIfNeeded: $0) }
    }

    /// Whether it says which commit it is after. Positions of servers before 0.2 do not.
    var isComplete: Bool { sequence == 0 || check != nil }

    /// Whether the operation of its number is the one that it was given out for, committed at a time; nil if that is
    /// not known.
    func follows(commitAt time: Int64?) -> Bool {
        isComplete && check == Position(epoch: epoch, sequence: sequence, time: time).check
    }

    // MARK: Text

    private static let digits = Array("0123456789abcdef".utf8)

    /// `epoch:sequence:check`: sixteen hexadecimal digits, a decimal number, eight hexadecimal digits; the check is
    /// optional.
    package var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(37)
        Self.append(epoch, digits: 16, to: &text)
        text.append(UInt8(ascii: ":"))
        text.append(contentsOf: String(sequence).utf8)
        guard let check else { return text }
        text.append(UInt8(ascii: ":"))
        Self.append(UInt64(check), digits: 8, to: &text)
        return text
    }

    private static func append(_ number: UInt64, digits count: Int, to text: inout [UInt8]) {
        for index in (0..<UInt64(count)).reversed() { text.append(digits[Int(number >> (4 * index) & 15)]) }
    }

    /// Nil if the text is not a position.
    package init?(_ text: some Collection<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, let epoch = Self.hexadecimal(parts[0], digits: 16),
            let sequence = Self.decimal(parts[1])
        else { return nil }
        self.init(epoch: epoch, sequence: sequence, time: nil)
        if parts.count == 3 {
            guard sequence > 0, let check = Self.hexadecimal(parts[2], digits: 8) else { return nil }
            self.check = UInt32(check)
        }
    }

    private static func hexadecimal(_ text: some Collection<UInt8>, digits count: Int) -> UInt64? {
        guard text.count == count else { return nil }
        var number: UInt64 = 0
        for byte in text {
            guard let digit = digits.firstIndex(of: byte) else { return nil }
            number = number << 4 | UInt64(digit)
        }
        return number
    }

    private static func decimal(_ text: some Collection<UInt8>) -> UInt64? {
        // Nineteen digits fit.
        guard (1...19).contains(text.count), text.first != UInt8(ascii: "0") || text.count == 1 else { return nil }
        var number: UInt64 = 0
        for byte in text {
            guard byte.isDigit else { return nil }
            number = number * 10 + UInt64(byte - UInt8(ascii: "0"))
        }
        return number
    }
}

/// The state that a listener with positions reports.
package enum Since: Hashable, Sendable {
    case nothing
    /// The value at this point.
    case position(Position)
}
