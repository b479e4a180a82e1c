/// Keys of the store: one key, or all keys from a first one up to a last one, which is not included. Keys are
/// bytes, in bytewise order.
package struct EtcdKeyRange: Hashable, Sendable {
    package let start: [UInt8]
    /// Nil for `start` alone.
    package let end: [UInt8]?

    /// - precondition: `start` is not empty: etcd would take an empty key for an error.
    private init(start: [UInt8], end: [UInt8]?) {
        precondition(!start.isEmpty, "a key has at least one byte")
        self.start = start
        self.end = end
    }

    package static func key(_ key: [UInt8]) -> EtcdKeyRange { EtcdKeyRange(start: key, end: nil) }

    package static func keys(from start: [UInt8], upTo end: [UInt8]) -> EtcdKeyRange {
        EtcdKeyRange(start: start, end: end)
    }

    /// All keys that begin with `prefix`.
    package static func prefix(_ prefix: [UInt8]) -> EtcdKeyRange {
        EtcdKeyRange(start: prefix, end: end(ofPrefix: prefix))
    }

    /// The first key after all keys that begin with `prefix`. One zero byte means the end of all keys.
    package static func end(ofPrefix prefix: [UInt8]) -> [UInt8] {
        guard let last = prefix.lastIndex(where: { $0 < 0xFF }) else { return [0] }
        return prefix[..<last] + [prefix[last] + 1]
    }

    package func contains(_ key: [UInt8]) -> Bool {
        guard let end else { return key == start }
        return !key.lexicographicallyPrecedes(start) && (end == [0] || key.lexicographicallyPrecedes(end))
    }
}
