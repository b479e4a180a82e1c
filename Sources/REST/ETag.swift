import HearthJSONTree

/// The tag of a value (rest.md 3): its V1 hash, and `null_etag` for nothing.
struct ETag: Hashable, Sendable {
    private static let nothing = Array("null_etag".utf8)

    /// The hash as the database takes it: empty for nothing.
    let hash: [UInt8]

    static let none = ETag(hash: [])
    /// In `if-none-match`: that of every value.
    static let any = ETag(hash: Array("*".utf8))

    init(hash: [UInt8]) { self.hash = hash }

    init(of value: CanonicalJSON) { hash = NodeHash.hash(value) }

    /// As a client sends it, with quotes or without; nil for an empty text.
    init?(_ field: ArraySlice<UInt8>) {
        var text = field
        if text.count >= 2, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") {
            text = text.dropFirst().dropLast()
        }
        if text.isEmpty { return nil }
        hash = text.elementsEqual(Self.nothing) ? [] : Array(text)
    }

    /// As in a header field.
    var field: [UInt8] { hash.isEmpty ? Self.nothing : hash }
}
