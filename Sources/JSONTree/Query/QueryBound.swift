/// One end of a query's interval, as clients name it (Protocol.md 16.1): a position (value, key) in the index.
package struct QueryBound: Hashable, Sendable {
    /// The key of a bound. Need not be a valid one: clients send neighbours of keys, which can be longer.
    package enum BoundKey: Hashable, Sendable {
        /// Before all keys.
        case lowest
        /// After all keys.
        case highest
        case key(utf8: [UInt8])

        /// Reads the sentinels of the SDKs, which are not legal as keys.
        package init(parsing utf8: [UInt8]) {
            if utf8.elementsEqual("[MIN_NAME]".utf8) {
                self = .lowest
            } else if utf8.elementsEqual("[MAX_NAME]".utf8) || utf8.elementsEqual("[MAX_KEY]".utf8) {
                self = .highest
            } else {
                self = .key(utf8: utf8)
            }
        }
    }

    /// A leaf or null. In the order of the keys: the key as a string.
    package var value: CanonicalJSON
    /// Nil: before all keys at the start of the interval, after all keys at its end. Means nothing in the order of the
    /// keys.
    package var key: BoundKey?
    package var isInclusive: Bool

    package init(_ value: CanonicalJSON, key: BoundKey? = nil, isInclusive: Bool = true) {
        self.value = value
        self.key = key
        self.isInclusive = isInclusive
    }
}

extension QueryBound {
    /// The bytes at or before all places from this bound on, and after all others.
    func lower(in index: QueryIndex) throws(QueryError) -> [UInt8] {
        try position(in: index, isAfterEqual: !isInclusive, missingKey: .lowest)
    }

    /// The bytes after all places up to this bound, and at or before all others.
    func upper(in index: QueryIndex) throws(QueryError) -> [UInt8] {
        try position(in: index, isAfterEqual: isInclusive, missingKey: .highest)
    }

    private func position(
        in index: QueryIndex, isAfterEqual: Bool, missingKey: BoundKey
    ) throws(QueryError) -> [UInt8] {
        guard value.isNull || value.isLeaf, value.bytes.first != UInt8(ascii: "{") else { throw .boundNotPrimitive }
        var bytes: [UInt8] = []
        let key: BoundKey
        if index == .key {
            guard let text = value.stringUTF8 else { throw .keyBoundNotString }
            key = BoundKey(parsing: text)
        } else {
            IndexValue.append(value, in: value.range, to: &bytes)
            key = self.key ?? missingKey
        }
        switch key {
        case .lowest: break
        case .highest: bytes.append(Segment.upperBound)
        case .key(let utf8):
            utf8.withUnsafeBytes { Segment.append(key: $0, to: &bytes) }
            // No place is a prefix of another one, so nothing comes between a place and itself with a zero.
            if isAfterEqual { bytes.append(0x00) }
        }
        return bytes
    }
}

extension CanonicalJSON {
    /// The bytes of a string without a priority, escapes resolved; nil for anything else.
    package var stringUTF8: [UInt8]? {
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        var utf8: [UInt8] = []
        bytes.withUnsafeBytes { JSONText.appendUnescaped($0.part(1..<max(1, $0.count - 1)), to: &utf8) }
        return utf8
    }
}
