import HearthJSONValues

/// Checks of the registered claims of RFC 7519, section 4.1.
extension JSONWebToken {
    /// How far the clock of a token's issuer may be ahead, in seconds. Expiry has no tolerance: clients can request a
    /// new token.
    package static let clockSkewSeconds: Int64 = 60

    /// Checks `exp`, which must be there, `nbf` and `iat`. All times are seconds since 1970.
    package func checkTimes(now: Int64) throws(TokenError) {
        guard let end = try seconds("exp") else { throw .invalidClaim("exp") }
        guard now < end else { throw .expired }
        for start in [try seconds("nbf"), try seconds("iat")] {
            if let start, start > now + Self.clockSkewSeconds { throw .notYetValid }
        }
    }

    /// Checks that the token is valid for `seconds` at most, from `iat` to `exp`. Issuers may set `iat` back by the
    /// skew that clocks may have, so that no server finds it in the future.
    package func checkLifetime(max seconds: Int64) throws(TokenError) {
        guard let start = try self.seconds("iat"), let end = try self.seconds("exp"),
            end - start <= seconds + Self.clockSkewSeconds
        else { throw .invalidClaim("exp") }
    }

    /// The seconds of a claim, a fraction cut off; nil if it is missing. Not a number, a negative or an unreasonable
    /// one is an error.
    package func seconds(_ name: TokenError.StaticName) throws(TokenError) -> Int64? {
        switch claims[name.text] {
        case nil: return nil
        case .integer(let value) where 0...Self.secondsMax ~= value: return value
        case .double(let value) where value >= 0 && value <= Double(Self.secondsMax): return Int64(value)
        default: throw .invalidClaim(name)
        }
    }

    /// So that sums cannot overflow; it is 285 million years off.
    private static let secondsMax: Int64 = 1 << 53

    package func check(issuer: String) throws(TokenError) {
        guard claims["iss"]?.isText(issuer) == true else { throw .wrongIssuer }
    }

    /// Checks that the token is for `audience`: says it, or a list with it.
    package func check(audience: String) throws(TokenError) { try check(audiences: [audience]) }

    /// Checks that the token is for one of `audiences`.
    package func check(audiences: [String]) throws(TokenError) {
        let stated = claims["aud"].map { $0.array ?? [$0] } ?? []
        guard stated.contains(where: { value in audiences.contains(where: value.isText) }) else {
            throw .wrongAudience
        }
    }

    /// A string that must be there and have 1 to `byteCountMax` bytes.
    package func name(_ claim: TokenError.StaticName, byteCountMax: Int) throws(TokenError) -> [UInt8] {
        guard let name = claims[claim.text]?.utf8, 1...byteCountMax ~= name.count else { throw .invalidClaim(claim) }
        return name
    }
}
