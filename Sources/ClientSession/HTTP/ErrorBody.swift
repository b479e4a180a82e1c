import HearthJSONValues

/// The error in the body of an HTTP answer.
package enum ErrorBody {
    /// The text of `{"error":"…"}` (rest.md 6), also with an `error_description` (RFC 6749, section 5.2), or of
    /// `{"error":{"message":"…"}}` (accounts.md 5). Nil if there is none.
    package static func message(in body: [UInt8]) -> String? {
        guard let body = (try? JSONValue(parsing: body))?.object, let error = body["error"] else { return nil }
        guard let text = error.text else { return error.object?["message"]?.text }
        return body["error_description"]?.text.map { "\(text): \($0)" } ?? text
    }
}
