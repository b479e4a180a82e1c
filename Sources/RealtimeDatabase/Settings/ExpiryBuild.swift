import HearthJSONTree
import HearthSecurityRules

/// Finding the children with a time that were there before a setting.
struct ExpiryBuild {
    let expiry: IndexCatalog.Expiry
    var walk: CollectionWalk

    init(_ expiry: IndexCatalog.Expiry) {
        self.expiry = expiry
        walk = CollectionWalk(expiry.definition.pattern)
    }
}

extension IndexCatalog.Expiry {
    private static var timeByteCount: Int { 8 }

    /// The common prefix of all entries. They are at the root, so that they are in the order of time over all
    /// collections.
    var prefix: [UInt8] { IndexEntryKey.prefix(of: number, at: .root) }

    /// `prefix`, the time in eight bytes, and the encoded path of the child.
    func key(_ time: Int64, _ child: [UInt8]) -> [UInt8] {
        var key = prefix
        let bits = UInt64(bitPattern: time)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        return key + child
    }

    /// Greater than all entries.
    var end: [UInt8] { prefix + [UInt8](repeating: 0xFF, count: Self.timeByteCount) }

    func time(ofKey key: [UInt8]) -> Int64 {
        Int64(bitPattern: key[prefix.count..<prefix.count + Self.timeByteCount].reduce(0) { $0 << 8 | UInt64($1) })
    }

    func child(ofKey key: [UInt8]) -> Path { Path(encoded: Array(key[(prefix.count + Self.timeByteCount)...])) }
}
