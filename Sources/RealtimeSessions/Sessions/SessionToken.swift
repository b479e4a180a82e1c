import HearthBytes
package import HearthRealtimeDatabase
import HearthWireProtocol

/// Names a session to further connections of its client: tells where it lives, and cannot be guessed. Who knows it may
/// end the session or take it over (Protocol.md 2).
package struct SessionToken: Equatable {
    /// Characters of the text: one for the loop, eight for the number there, and fifteen random ones.
    static let textCount = 24

    package let connection: ConnectionID
    private let random: (UInt64, UInt64)

    /// A new one.
    init(_ connection: ConnectionID) {
        self.connection = connection
        var generator = SystemRandomNumberGenerator()
        random = (generator.next() >> 16, generator.next() >> 22)
    }

    /// Nil if it cannot be the text of one.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count == Self.textCount else { return nil }
        var fields: [UInt64] = [0, 0, 0, 0]
        for (index, character) in text.enumerated() {
            guard let digit = Base64.url.digit(character) else { return nil }
            let field = index == 0 ? 0 : 1 + (index - 1) / 8
            fields[field] = fields[field] << 6 | UInt64(digit)
        }
        connection = ConnectionID(loop: Int(fields[0]), kind: .realtime, serial: fields[1])
        random = (fields[2], fields[3])
    }

    package var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(Self.textCount)
        func append(_ value: UInt64, _ digits: Int) {
            for digit in (0..<digits).reversed() {
                text.append(Base64.url.character(UInt8(truncatingIfNeeded: value >> UInt64(6 * digit) & 63)))
            }
        }
        append(UInt64(connection.loop), 1)
        append(connection.raw & (1 << 48 - 1), 8)
        append(random.0, 8)
        append(random.1, 7)
        return text
    }

    package static func == (a: SessionToken, b: SessionToken) -> Bool {
        a.connection == b.connection && a.random.0 == b.random.0 && a.random.1 == b.random.1
    }

    /// So many random characters of the same alphabet.
    static func password(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in Base64.url.character(UInt8(truncatingIfNeeded: generator.next())) }
    }
}
