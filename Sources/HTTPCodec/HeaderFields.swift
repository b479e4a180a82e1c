/// The header fields of one head, in the order in which they came.
///
/// Storage is flat: the bytes of the head as received, and where in them each name and value lies. Slices handed out
/// share it. Heads have few fields, so a look-up is a scan: about 2 ns for each field that is passed over.
package struct HeaderFields: RandomAccessCollection, Sendable {
    package struct Field: Sendable {
        package let name: ArraySlice<UInt8>
        /// Without the white space around it; never holds a control byte other than a tab.
        package let value: ArraySlice<UInt8>
    }

    package struct Position {
        let nameStart: UInt32
        let nameEnd: UInt32
        let valueStart: UInt32
        let valueEnd: UInt32

        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
    }

    /// The whole head, first line included.
    package let bytes: [UInt8]
    private let positions: [Position]

    package init(bytes: [UInt8], positions: [Position]) {
        self.bytes = bytes
        self.positions = positions
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { positions.count }
    package subscript(index: Int) -> Field {
        Field(name: bytes[positions[index].name], value: bytes[positions[index].value])
    }

    /// The value of the first field called `name`, which is written in lower case and compared in any.
    package func first(_ name: StaticString) -> ArraySlice<UInt8>? {
        bytes.withUnsafeBytes { buffer in
            positions.first { buffer.equals(name, in: $0.name) }?.value
        }.map { bytes[$0] }
    }

    /// The values of all fields called `name`, in lower case, as one list (RFC 9110 5.3); nil if there is none.
    package func combined(_ name: String) -> [UInt8]? {
        var name = name
        return name.withUTF8 { name in
            var list: [UInt8]?
            for field in positions where field.name.count == name.count {
                guard zip(bytes[field.name], name).allSatisfy({ $0.asciiLowercased == $1 }) else { continue }
                let value = bytes[field.value]
                list = list.map { $0 + ", ".utf8 + value } ?? [UInt8](value)
            }
            return list
        }
    }
}

/// The elements of a comma-separated list, without white space around them; empty ones are skipped (RFC 9110 5.6.1.2).
struct TokenList {
    private let bytes: UnsafeRawBufferPointer
    private var position: Int
    private let end: Int

    init(_ bytes: UnsafeRawBufferPointer, in value: Range<Int>) {
        self.bytes = bytes
        position = value.lowerBound
        end = value.upperBound
    }

    mutating func next() -> Range<Int>? {
        while position < end {
            while position < end, bytes[position].isBlank || bytes[position] == UInt8(ascii: ",") { position += 1 }
            let start = position
            while position < end, bytes[position] != UInt8(ascii: ",") { position += 1 }
            var last = position
            while last > start, bytes[last - 1].isBlank { last -= 1 }
            if last > start { return start..<last }
        }
        return nil
    }
}
