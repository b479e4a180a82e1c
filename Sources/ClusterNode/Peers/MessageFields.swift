/// Writes the fields of messages between nodes: numbers as LEB128, bytes after their count.
struct MessageWriter {
    private(set) var bytes: [UInt8] = []

    init(reserving count: Int = 0) { bytes.reserveCapacity(count) }

    mutating func add(byte: UInt8) { bytes.append(byte) }

    mutating func add(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func add(_ value: some Collection<UInt8>) {
        add(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func add(_ text: String) { add(text.utf8) }
}

/// A node's message is invalid.
package struct MalformedMessage: Error, Hashable {}

struct MessageReader {
    private var rest: ArraySlice<UInt8>
    /// One of the writes that were read makes no events of triggers.
    var hasQuietWrites = false

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() throws(MalformedMessage) -> UInt8 {
        guard let byte = rest.popFirst() else { throw MalformedMessage() }
        return byte
    }

    mutating func number() throws(MalformedMessage) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw MalformedMessage()
    }

    mutating func slice() throws(MalformedMessage) -> [UInt8] {
        let count = try number()
        guard count <= UInt64(rest.count) else { throw MalformedMessage() }
        defer { rest = rest.dropFirst(Int(count)) }
        return Array(rest.prefix(Int(count)))
    }

    mutating func text() throws(MalformedMessage) -> String {
        guard let text = String(validating: try slice(), as: UTF8.self) else { throw MalformedMessage() }
        return text
    }
}
