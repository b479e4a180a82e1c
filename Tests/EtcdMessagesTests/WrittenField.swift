/// A field of a message of Protocol Buffers, with its number in etcd's rpc.proto or kv.proto. Written apart from
/// `MessageWriter`, so that a mistake of one is not one of the other.
struct WrittenField: Sendable {
    private(set) var bytes: [UInt8]

    private init(_ number: UInt64, type: UInt64, _ value: [UInt8]) { bytes = variable(number << 3 | type) + value }

    static func number(_ number: UInt64, _ value: Int64) -> WrittenField {
        .unsigned(number, UInt64(bitPattern: value))
    }

    static func unsigned(_ number: UInt64, _ value: UInt64) -> WrittenField {
        WrittenField(number, type: 0, variable(value))
    }

    static func flag(_ number: UInt64) -> WrittenField { .unsigned(number, 1) }

    static func bytes(_ number: UInt64, _ value: [UInt8]) -> WrittenField {
        WrittenField(number, type: 2, variable(UInt64(value.count)) + value)
    }

    static func text(_ number: UInt64, _ value: String) -> WrittenField { .bytes(number, Array(value.utf8)) }

    static func message(_ number: UInt64, _ fields: [WrittenField]) -> WrittenField {
        .bytes(number, encoded(fields))
    }

    /// A number of eight bytes, which etcd does not use.
    static func eightBytes(_ number: UInt64) -> WrittenField {
        WrittenField(number, type: 1, [UInt8](repeating: 0xA5, count: 8))
    }

    /// A number of four bytes, which etcd does not use.
    static func fourBytes(_ number: UInt64) -> WrittenField {
        WrittenField(number, type: 5, [UInt8](repeating: 0xA5, count: 4))
    }
}

/// A message of these fields.
func encoded(_ fields: [WrittenField]) -> [UInt8] { fields.flatMap(\.bytes) }

/// A number in bytes of seven bits each, the lowest first, of which all but the last have their highest bit.
private func variable(_ value: UInt64) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F) | 0x80] + variable(value >> 7)
}
