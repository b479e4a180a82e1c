import HearthHTTPCodec
import HearthJSONTree

/// The tag of a value (rest.md 3): its V1 hash, and `null_etag` for nothing.
struct ETag: Hashable, Sendable {
    private static let nothing = Array("null_etag".utf8)

    /// The hash as the database takes it: empty for nothing.
    let hash: [UInt8]

    static let none = ETag(hash: [])

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

/// The precondition of a request, or of its answer (rest.md 3).
struct RESTConditions {
    /// `X-Firebase-ETag: true`
    let wantsTag: Bool
    /// The write happens only if this is the tag.
    let ifMatch: ETag?
    /// The answer has a body only if this is not the tag.
    let ifNoneMatch: ETag?

    /// Values have tags; priorities have none of their own.
    init(_ headers: HeaderFields, of target: WriteTarget) throws(RESTError) {
        let wish = headers.first("x-firebase-etag").map { String(decoding: $0, as: UTF8.self).lowercased() }
        wantsTag = wish == "true" && !target.isPriority
        ifMatch = try Self.tag(headers.first("if-match"))
        ifNoneMatch = target.isPriority ? nil : try Self.tag(headers.first("if-none-match"))
        if target.isPriority { try refuseExpectation() }
    }

    private static func tag(_ field: ArraySlice<UInt8>?) throws(RESTError) -> ETag? {
        guard let field else { return nil }
        guard let tag = ETag(field) else { throw RESTError("an ETag must not be empty") }
        return tag
    }

    /// A request that expects something of the present value must not be carried out as if it did not.
    func refuseExpectation() throws(RESTError) {
        if ifMatch != nil { throw RESTError("if-match is supported for PUT and DELETE of values only") }
    }
}
