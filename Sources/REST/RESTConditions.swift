import HearthHTTPCodec
import HearthJSONTree
import HearthRealtimeDatabase

/// The precondition of a request, or of its answer (rest.md 3).
struct RESTConditions {
    /// `X-Firebase-ETag: true`
    let wantsTag: Bool
    /// `if-match`: the write happens only if this is the tag.
    let ifMatch: ETag?
    /// `if-none-match`: the answer has a body only if this is not the tag.
    let ifNoneMatch: ETag?

    /// Values have tags; priorities have none of their own.
    init(_ headers: HeaderFields, of target: WriteTarget) throws(RESTError) {
        let wish = headers.first("x-firebase-etag").map { String(decoding: $0, as: UTF8.self).lowercased() }
        wantsTag = wish == "true" && !target.isPriority
        ifMatch = try Self.tag(headers.first("if-match"))
        ifNoneMatch = try Self.tag(headers.first("if-none-match"))
        if target.isPriority, ifMatch != nil { throw Self.ifMatchIsRefused }
    }

    private static func tag(_ field: ArraySlice<UInt8>?) throws(RESTError) -> ETag? {
        guard let field else { return nil }
        guard let tag = ETag(field) else { throw RESTError("an ETag must not be empty") }
        return tag
    }

    /// The tag that the present value must have for a PUT or DELETE. With `if-none-match: *` a PUT happens only if
    /// there is no value.
    func expectation(of target: WriteTarget, isPut: Bool) throws(RESTError) -> ETag? {
        guard let ifNoneMatch else { return ifMatch }
        guard isPut, !target.isPriority, ifMatch == nil, ifNoneMatch == .any else { throw Self.ifNoneMatchIsRefused }
        return ETag.none
    }

    /// A request that expects something of the present value must not be carried out as if it did not.
    func refuseExpectation() throws(RESTError) {
        if ifMatch != nil { throw Self.ifMatchIsRefused }
        if ifNoneMatch != nil { throw Self.ifNoneMatchIsRefused }
    }

    private static let ifMatchIsRefused = RESTError("if-match is supported for PUT and DELETE of values only")
    private static let ifNoneMatchIsRefused = RESTError(
        "if-none-match is supported for GET, and as * alone for PUT of values only")
}
