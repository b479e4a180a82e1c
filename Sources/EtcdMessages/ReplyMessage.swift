/// A message of Protocol Buffers (protobuf.dev/programming-guides/encoding) in a reply. Its fields are the cases of an
/// enum whose raw values are their numbers; fields that the enum does not have are passed over. etcd leaves out zero,
/// false and empty values.
package struct ReplyMessage<Field: RawRepresentable<UInt32> & Sendable>: Sendable {
    private var fields: [(number: UInt32, value: ReplyValue)] = []

    /// The same message with names of other fields.
    func named<Other>(by type: Other.Type) -> ReplyMessage<Other> { ReplyMessage<Other>(fields: fields) }

    private init(fields: [(number: UInt32, value: ReplyValue)]) { self.fields = fields }

    /// Throws if the bytes are not those of a message.
    package init(_ bytes: ArraySlice<UInt8>) throws(EtcdError) {
        var rest = bytes
        while !rest.isEmpty {
            let tag = try Self.variable(&rest)
            guard let number = UInt32(exactly: tag >> 3), number > 0, let type = WireType(rawValue: UInt8(tag & 7))
            else {
                throw .malformedReply("a field without a number or a type")
            }
            let value: ReplyValue
            switch type {
            case .variable: value = .variable(try Self.variable(&rest))
            case .bytes:
                let count = try Self.variable(&rest)
                guard count <= rest.count else { throw Self.isCutOff }
                value = .bytes(rest.prefix(Int(count)))
                rest = rest.dropFirst(Int(count))
            case .eightBytes, .fourBytes:
                let count = type == .eightBytes ? 8 : 4
                guard rest.count >= count else { throw Self.isCutOff }
                value = .ignored
                rest = rest.dropFirst(count)
            }
            fields.append((number, value))
        }
    }

    package func has(_ field: Field) -> Bool { fields.contains { $0.number == field.rawValue } }

    package func integer(_ field: Field) throws(EtcdError) -> Int64 { Int64(bitPattern: try unsigned(field)) }

    /// A revision, a time or a size, which etcd never gives as a negative number.
    package func natural(_ field: Field) throws(EtcdError) -> Int64 {
        let value = try integer(field)
        guard value >= 0 else { throw malformed(field) }
        return value
    }

    package func unsigned(_ field: Field) throws(EtcdError) -> UInt64 {
        switch last(field) {
        case nil: return 0
        case .variable(let value)?: return value
        case .bytes?, .ignored?: throw malformed(field)
        }
    }

    package func flag(_ field: Field) throws(EtcdError) -> Bool { try unsigned(field) != 0 }

    package func bytes(_ field: Field) throws(EtcdError) -> [UInt8] {
        guard let value = last(field) else { return [] }
        return Array(try bytes(value, of: field))
    }

    package func text(_ field: Field) throws(EtcdError) -> String { String(decoding: try bytes(field), as: UTF8.self) }

    package func texts(_ field: Field) throws(EtcdError) -> [String] {
        try all(field).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Nil if it is missing.
    package func message<Inner>(
        _ field: Field, _ type: Inner.Type = Inner.self
    ) throws(EtcdError) -> ReplyMessage<Inner>? {
        guard let value = last(field) else { return nil }
        return try ReplyMessage<Inner>(try bytes(value, of: field))
    }

    package func messages<Inner>(
        _ field: Field, _ type: Inner.Type = Inner.self
    ) throws(EtcdError) -> [ReplyMessage<Inner>] {
        try all(field).map { (bytes) throws(EtcdError) in try ReplyMessage<Inner>(bytes) }
    }

    /// A field that occurs several times though it is no list has the last of its values.
    private func last(_ field: Field) -> ReplyValue? { fields.last { $0.number == field.rawValue }?.value }

    private func all(_ field: Field) throws(EtcdError) -> [ArraySlice<UInt8>] {
        var values: [ArraySlice<UInt8>] = []
        for entry in fields where entry.number == field.rawValue { values.append(try bytes(entry.value, of: field)) }
        return values
    }

    private func bytes(_ value: ReplyValue, of field: Field) throws(EtcdError) -> ArraySlice<UInt8> {
        guard case .bytes(let bytes) = value else { throw malformed(field) }
        return bytes
    }

    private func malformed(_ field: Field) -> EtcdError { .malformedReply("\(field) is not as expected") }

    private static var isCutOff: EtcdError { .malformedReply("a message is cut off") }

    private static func variable(_ bytes: inout ArraySlice<UInt8>) throws(EtcdError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: 0 as UInt64, to: 70, by: 7) {
            guard let byte = bytes.popFirst() else { throw isCutOff }
            // The tenth byte has room for the highest bit alone.
            guard shift < 63 || byte < 2 else { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw .malformedReply("a number of more than 64 bits")
    }
}

/// The value of a field, as far as it is read.
private enum ReplyValue {
    case variable(UInt64)
    case bytes(ArraySlice<UInt8>)
    case ignored
}
