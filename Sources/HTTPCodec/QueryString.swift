/// The parameters of a request target: `name=value` pairs between `&`, percent-encoded, with `+` for a space
/// (rest.md 2).
///
/// Values are decoded on request. Invalid escapes are literal, a name without `=` has an empty value, and empty pairs
/// are skipped.
package struct QueryString: Sequence, Sendable {
    package struct Parameter: Sendable {
        /// Decoded.
        package let name: ArraySlice<UInt8>
        /// Decoded; need not be UTF-8.
        package let value: ArraySlice<UInt8>
    }

    /// As received, without the `?`.
    package let bytes: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    package var isEmpty: Bool { bytes.isEmpty }

    /// The value of the first parameter called exactly `name`. Cost: a scan of the query.
    package func first(_ name: StaticString) -> ArraySlice<UInt8>? {
        let value: Range<Int>? = bytes.withUnsafeBytes { buffer in
            var position = 0
            while let pair = RawPair(buffer, at: &position) {
                if pair.isNamed(name, in: buffer) { return pair.value }
            }
            return nil
        }
        return value.map(decoded)
    }

    package func makeIterator() -> Iterator { Iterator(query: self) }

    package struct Iterator: IteratorProtocol {
        fileprivate let query: QueryString
        private var position = 0

        fileprivate init(query: QueryString) { self.query = query }

        package mutating func next() -> Parameter? {
            let pair = query.bytes.withUnsafeBytes { RawPair($0, at: &position) }
            return pair.map { Parameter(name: query.decoded($0.name), value: query.decoded($0.value)) }
        }
    }

    private func decoded(_ part: Range<Int>) -> ArraySlice<UInt8> {
        PercentDecoder.decode(bytes[(bytes.startIndex + part.lowerBound)..<(bytes.startIndex + part.upperBound)])
    }
}

/// Where the parts of a pair lie, as received.
private struct RawPair {
    let name: Range<Int>
    let value: Range<Int>

    /// The next pair that is not empty; moves `position` after its `&`.
    init?(_ bytes: UnsafeRawBufferPointer, at position: inout Int) {
        while position < bytes.count, bytes[position] == UInt8(ascii: "&") { position += 1 }
        guard position < bytes.count else { return nil }
        let start = position
        var equals: Int?
        while position < bytes.count, bytes[position] != UInt8(ascii: "&") {
            if equals == nil, bytes[position] == UInt8(ascii: "=") { equals = position }
            position += 1
        }
        name = start..<(equals ?? position)
        value = (equals.map { $0 + 1 } ?? position)..<position
    }

    func isNamed(_ wanted: StaticString, in bytes: UnsafeRawBufferPointer) -> Bool {
        var decoder = PercentDecoder(UnsafeRawBufferPointer(rebasing: bytes[name]))
        return wanted.withUTF8Buffer { $0.allSatisfy { $0 == decoder.next() } } && decoder.next() == nil
    }
}
