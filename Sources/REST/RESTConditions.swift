import HearthHTTPCodec
import HearthJSONTree
import HearthRealtimeDatabase

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
