@testable import HearthEtcdMessages
import HearthTestSupport
import Testing

@Suite("Messages of Protocol Buffers") struct MessageTests {
    private enum Field: UInt32 { case number = 1, bytes, texts, inner }
    private enum InnerField: UInt32 { case number = 1 }

    private func read(_ fields: [WrittenField]) throws -> ReplyMessage<Field> {
        try ReplyMessage<Field>(encoded(fields)[...])
    }

    @Test("have zero, false and empty values for fields that are left out") func missing() throws {
        let message = try read([])
        #expect(!message.has(.number))
        #expect(try message.integer(.number) == 0)
        #expect(try message.unsigned(.number) == 0)
        #expect(try message.flag(.number) == false)
        #expect(try message.bytes(.bytes) == [])
        #expect(try message.text(.bytes) == "")
        #expect(try message.texts(.texts) == [])
        #expect(try !message.has(.inner) && message.message(.inner, InnerField.self) == nil)
        #expect(try message.messages(.inner, InnerField.self).isEmpty)
    }

    @Test("pass over fields that are not known, of every type") func unknown() throws {
        let message = try read([
            .number(5, 1), .number(1, 7), .eightBytes(6), .bytes(2, [1, 2]), .fourBytes(7), .text(8, "later"),
            .message(4, [.fourBytes(9), .number(1, -8), .eightBytes(9)]), .number((1 << 29) - 1, 3),
        ])
        #expect(try message.integer(.number) == 7)
        #expect(try message.bytes(.bytes) == [1, 2])
        #expect(try message.message(.inner, InnerField.self)?.integer(.number) == -8)
    }

    @Test("use the last of several values; lists have all of them") func repeated() throws {
        let message = try read([
            .number(1, 5), .text(3, "a"), .bytes(2, [1]), .number(1, 6), .text(3, ""), .bytes(2, [2]), .text(3, "b"),
            .message(4, [.number(1, 1)]), .message(4, [.number(1, 2)]),
        ])
        #expect(try message.integer(.number) == 6)
        #expect(try message.bytes(.bytes) == [2])
        #expect(try message.texts(.texts) == ["a", "", "b"])
        #expect(try message.message(.inner, InnerField.self)?.integer(.number) == 2)
        let inner = try message.messages(.inner, InnerField.self)
        #expect(try inner.map { try $0.integer(.number) } == [1, 2])
    }

    @Test("are shorter or an error when they are cut off") func cutOff() throws {
        let fields: [WrittenField] = [
            .number(1, 300), .text(3, "one"), .eightBytes(6), .fourBytes(7), .message(4, [.number(1, -1)]),
            .bytes(2, [UInt8](repeating: 9, count: 200)),
        ]
        let bytes = encoded(fields)
        let ends = Set(fields.indices.map { encoded(Array(fields[..<$0])).count })
        for count in bytes.indices {
            let beginning = bytes[..<count]
            if ends.contains(count) {
                _ = try ReplyMessage<Field>(beginning)
            } else {
                #expect(throws: EtcdError.malformedReply("a message is cut off"), "after \(count) bytes") {
                    try ReplyMessage<Field>(beginning)
                }
            }
        }
        // Lengths without any bytes, up to one that is not an Int.
        for length in ["01", "7F", "FFFFFFFF0F", "FFFFFFFFFFFFFFFF7F", "FFFFFFFFFFFFFFFFFF01"] {
            #expect(throws: EtcdError.malformedReply("a message is cut off"), "\(length)") {
                try ReplyMessage<Field>(hex("12" + length)[...])
            }
        }
    }

    @Test("are read from where they are in other bytes") func slices() throws {
        let bytes = [0xFF] + encoded([.number(1, 7), .bytes(2, [1])]) + [0xFF]
        let message = try ReplyMessage<Field>(bytes[1..<bytes.count - 1])
        #expect(try message.integer(.number) == 7)
        #expect(try message.bytes(.bytes) == [1])
    }

    /// The first two are examples of protobuf.dev.
    @Test(
        "carry numbers of up to 64 bits",
        arguments: [
            ("9601", 150), ("AC02", 300), ("00", 0), ("8000", 0), ("7F", 127), ("8001", 128),
            ("FFFFFFFF0F", 4_294_967_295),
            ("FFFFFFFFFFFFFFFF7F", .max), ("80808080808080808001", .min), ("FFFFFFFFFFFFFFFFFF01", -1),
            ("FFFFFFFFFFFFFFFFFF00", .max),
        ] as [(String, Int64)])
    func numbers(digits: String, value: Int64) throws {
        let message = try ReplyMessage<Field>(hex("08" + digits)[...])
        #expect(try message.integer(.number) == value)
        #expect(try message.unsigned(.number) == UInt64(bitPattern: value))
        #expect(try message.flag(.number) == (value != 0))
    }

    @Test(
        "with a number of more than 64 bits are refused",
        arguments: ["FFFFFFFFFFFFFFFFFF02", "FFFFFFFFFFFFFFFFFF7F", "8080808080808080808000", "FFFFFFFFFFFFFFFFFFFF01"])
    func longNumbers(digits: String) {
        // As a value, a length and the number of a field.
        for bytes in [hex("08" + digits), hex("12" + digits), hex(digits)] {
            #expect(throws: EtcdError.malformedReply("a number of more than 64 bits")) {
                try ReplyMessage<Field>(bytes[...])
            }
        }
    }

    /// Groups, which begin with type 3 and end with type 4, are of earlier versions; types 6 and 7 are of none.
    @Test(
        "with groups, unknown types or impossible numbers of fields are refused",
        arguments: ["0B0C", "0C", "0E00", "0F00", "4B4C", "00", "0200", "8000", "8080808080010000", "80808080800200"])
    func tags(digits: String) {
        #expect(throws: EtcdError.malformedReply("a field without a number or a type")) {
            try ReplyMessage<Field>(hex(digits)[...])
        }
    }

    @Test("with fields of other types than expected are an error when these are read") func types() throws {
        for field in [WrittenField.bytes(1, [5]), .eightBytes(1), .fourBytes(1)] {
            let message = try read([field])
            #expect(throws: EtcdError.malformedReply("number is not as expected")) { try message.integer(.number) }
            #expect(throws: EtcdError.malformedReply("number is not as expected")) { try message.unsigned(.number) }
            #expect(throws: EtcdError.malformedReply("number is not as expected")) { try message.flag(.number) }
        }
        for field in [WrittenField.number(2, 5), .eightBytes(2), .fourBytes(2)] {
            let message = try read([field])
            #expect(throws: EtcdError.malformedReply("bytes is not as expected")) { try message.bytes(.bytes) }
            #expect(throws: EtcdError.malformedReply("bytes is not as expected")) { try message.text(.bytes) }
        }
        let mixed = try read([.text(3, "a"), .number(3, 5), .text(3, "b"), .message(4, []), .number(4, 5)])
        #expect(throws: EtcdError.malformedReply("texts is not as expected")) { try mixed.texts(.texts) }
        #expect(throws: EtcdError.malformedReply("inner is not as expected")) {
            try mixed.message(.inner, InnerField.self)
        }
        #expect(throws: EtcdError.malformedReply("inner is not as expected")) {
            try mixed.messages(.inner, InnerField.self)
        }
    }

    @Test("are written as they are read", arguments: 0..<50 as Range<UInt64>) func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let number = Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random)
        let value = (0..<Int.random(in: 0..<300, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
        }
        var writer = MessageWriter<Field>()
        writer.integer(.number, number)
        writer.bytes(.bytes, value)
        writer.message(.inner, InnerField.self) { $0.integer(.number, number) }
        #expect(
            writer.bytes == encoded([.number(1, number), .bytes(2, value), .message(4, [.number(1, number)])]),
            "seed \(seed)")
        let message = try ReplyMessage<Field>(writer.bytes[...])
        #expect(try message.integer(.number) == number, "seed \(seed)")
        #expect(try message.bytes(.bytes) == value, "seed \(seed)")
        #expect(try message.message(.inner, InnerField.self)?.integer(.number) == number, "seed \(seed)")
    }

    @Test("leave out a flag that is not set") func flags() {
        var writer = MessageWriter<Field>()
        writer.flag(.number, false)
        #expect(writer.bytes == [])
        writer.flag(.number, true)
        #expect(writer.bytes == [0x08, 1])
    }
}
