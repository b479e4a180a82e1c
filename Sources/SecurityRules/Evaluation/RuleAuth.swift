package import HearthJSONTree

/// Who asks: the variable `auth` (docs/rules.md 3.1). Made once per sign-in; rules read it without copying.
package final class RuleAuth: Sendable {
    let object: ClaimsObject
    /// Empty if there is none.
    package let uid: [UInt8]

    /// `auth` is exactly this JSON object, as administrators may choose it. Unlike values of the tree it may hold
    /// lists, nulls and any key.
    package init(json: [UInt8]) throws(JSONError) {
        let value = try RuleValue(claims: json)
        guard case .object(let object) = value else { throw JSONError(.unexpectedByte(json.first ?? 0), at: 0) }
        self.object = object
        uid = if case .text(let text) = object["uid"] { text.utf8 } else { [] }
    }

    /// `auth` of a token: see ``json(uid:provider:claims:)``.
    package convenience init(uid: [UInt8], provider: [UInt8]?, claims: [UInt8]) throws(JSONError) {
        try self.init(json: Self.json(uid: uid, provider: provider, claims: claims))
    }

    /// The text of `auth` of a token: `uid`, `provider` and `token`, which is `claims`, the text of a JSON object.
    package static func json(uid: [UInt8], provider: [UInt8]?, claims: [UInt8]) -> [UInt8] {
        var out = Array(#"{"uid":"#.utf8)
        JSONText.appendQuoted(uid, to: &out)
        if let provider {
            out += #","provider":"#.utf8
            JSONText.appendQuoted(provider, to: &out)
        }
        return out + Array(#","token":"#.utf8) + claims + Array("}".utf8)
    }
}
