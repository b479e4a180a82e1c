package import HearthJSONTree
import HearthTreeText

/// What a client says it has of a value that it begins to listen to (Protocol.md 4.2), by hashes.
package struct KnownData: Hashable, Sendable {
    /// Values of more bytes are not hashed on the database's thread.
    static let hashedBytesMax = 1 << 20

    package var hash: [UInt8]
    /// Hashes of its parts, which clients send of large values.
    package var parts: CompoundHash.Parts?

    package init(hash: [UInt8], parts: CompoundHash.Parts? = nil) {
        self.hash = hash
        self.parts = parts
    }

    /// The memory that it uses, about.
    var byteCount: Int {
        guard let parts else { return hash.count }
        return parts.posts.reduce(hash.count + 160 * parts.hashes.count) { $0 + $1.encoded.count }
    }

    /// What the client needs to have a value.
    enum Missing: Hashable {
        case nothing
        case everything
        case parts([CompoundHash.Difference])
    }

    func missing(of value: CanonicalJSON) -> Missing {
        // A client that holds nothing, told that there is nothing, needs no data.
        if hash.isEmpty || value.isNull { return hash.isEmpty && value.isNull ? .nothing : .everything }
        if value.bytes.count > Self.hashedBytesMax { return .everything }
        if NodeHash.matches(hash, value) { return .nothing }
        // No part differs if clients leave a priority out of their hashes.
        guard let parts, let differences = CompoundHash.differences(in: value, from: parts), !differences.isEmpty else {
            return .everything
        }
        return .parts(differences)
    }
}

extension KnownData: ExpressibleByArrayLiteral {
    package init(arrayLiteral hash: UInt8...) { self.init(hash: hash) }
}
