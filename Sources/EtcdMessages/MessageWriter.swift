/// Writes a message of Protocol Buffers (protobuf.dev/programming-guides/encoding). Its fields are the cases of an
/// enum whose raw values are their numbers.
struct MessageWriter<Field: RawRepresentable<UInt32>> {
    private(set) var bytes: [UInt8] = []

    mutating func integer(_ field: Field, _ value: Int64) {
        tag(field, .variable)
        variable(UInt64(bitPattern: value))
    }

    /// Left out if it is false, which says the same.
    mutating func flag(_ field: Field, _ value: Bool) { if value { integer(field, 1) } }

    mutating func bytes(_ field: Field, _ value: [UInt8]) {
        tag(field, .bytes)
        variable(UInt64(value.count))
        bytes += value
    }

    mutating func message<Inner>(
        _ field: Field, _ type: Inner.Type = Inner.self, _ build: (inout MessageWriter<Inner>) -> Void
    ) {
        var inner = MessageWriter<Inner>()
        build(&inner)
        bytes(field, inner.bytes)
    }

    private mutating func tag(_ field: Field, _ type: WireType) {
        variable(UInt64(field.rawValue) << 3 | UInt64(type.rawValue))
    }

    /// Seven bits in each byte, the lowest ones first; the eighth says that another one follows.
    private mutating func variable(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }
}

/// How the value of a field is written. Others were used by earlier versions of Protocol Buffers only.
enum WireType: UInt8 {
    case variable = 0
    case eightBytes = 1
    case bytes = 2
    case fourBytes = 5
}
