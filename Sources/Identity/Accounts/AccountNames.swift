import HearthJSONValues

/// The valid forms of addresses, numbers, passwords and claims.
package enum AccountNames {
    /// The form in which an address is kept and compared: lower case (accounts.md 4).
    package static func email(_ text: String) throws(AccountFailure) -> String {
        let email = text.lowercased()
        let parts = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard email.utf8.count <= emailByteCountMax, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
            isMailable(email)
        else { throw .refused(.invalidEmail) }
        return email
    }

    private static let emailByteCountMax = 320

    /// Whether an address is safe in the fields of a mail, in SMTP and on a command line: no character ends a line, a
    /// field or a word, is invisible, or makes it an option.
    package static func isMailable(_ email: String) -> Bool {
        !email.isEmpty && email.utf8.count <= emailByteCountMax && email.utf8.first != UInt8(ascii: "-")
            && email.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .privateUse, .unassigned:
                    false
                default: !scalar.properties.isWhitespace
                }
            }
            && !email.utf8.contains { "<>,;\"\\".utf8.contains($0) }
    }

    /// E.164: a plus and 1 to 15 digits; spaces, hyphens, dots and brackets are dropped.
    static func phone(_ text: String) throws(AccountFailure) -> String {
        let number = text.filter { !" -.()".contains($0) }
        guard number.hasPrefix("+"), (2...16).contains(number.utf8.count),
            number.utf8.dropFirst().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { throw .refused(.invalidPhoneNumber, "Invalid format.") }
        return number
    }

    static let passwordCharactersMin = 6

    static func check(password: String) throws(AccountFailure) {
        guard password.unicodeScalars.count >= passwordCharactersMin else {
            throw .refused(.weakPassword, "Password should be at least \(passwordCharactersMin) characters")
        }
        guard password.utf8.count <= PasswordHasher.passwordByteCountMax else {
            throw .refused(.weakPassword, "Password is too long")
        }
    }

    /// Both are in each token of the user (accounts.md 4).
    static let displayNameByteCountMax = 1024
    static let photoURLByteCountMax = 2048

    static func check(displayName: String?, photoURL: String?) throws(AccountFailure) {
        if let displayName, jsonByteCount(displayName) > displayNameByteCountMax {
            throw .refused(.invalidProfileAttribute, "Display name too long.")
        }
        if let photoURL, jsonByteCount(photoURL) > photoURLByteCountMax {
            throw .refused(.invalidProfileAttribute, "Photo URL too long.")
        }
    }

    /// Bytes that a text takes in a token.
    private static func jsonByteCount(_ text: String) -> Int {
        text.utf8.reduce(0) { count, byte in
            count + (byte < 0x20 ? 6 : byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? 2 : 1)
        }
    }

    static let claimsCharactersMax = 1000

    /// The claims that a JSON text holds (accounts.md 4).
    static func claims(_ text: String) throws(AccountFailure) -> JSONObject {
        guard text.utf8.count <= claimsCharactersMax else { throw .refused(.claimsTooLarge) }
        guard
            case .object(let claims)? = try? JSONValue(
                parsing: Array(text.utf8), depthMax: JSONValue.claimsDepthMax)
        else { throw .refused(.invalidClaims) }
        if let name = ReservedClaims.first(in: claims) { throw .refused(.forbiddenClaim, name) }
        return claims
    }

    static func check(id: String) throws(AccountFailure) {
        guard (1...TokenAuthority.uidByteCountMax).contains(id.utf8.count) else {
            throw .refused(.invalidArgument, "localId must have 1 to 128 characters")
        }
    }
}
