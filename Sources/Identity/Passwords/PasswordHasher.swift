package import HearthJSONWebTokens

/// Hashes passwords for keeping, and compares. Each call takes as long as the cost says, on purpose: not on an event
/// loop.
///
/// A kept hash is one text that says how it was made: `$scrypt$ln=14,r=8,p=5$SALT$HASH`, both in Base64url (accounts.md
/// 14). So costs can be raised, and hashes of other systems can be stored as well.
package struct PasswordHasher: Sendable {
    package enum Verdict: Hashable, Sendable {
        case wrong
        /// `needsNewHash`: hash it again, now that it is known, because it was kept with another cost or in another
        /// way.
        case right(needsNewHash: Bool)
    }

    /// Longer passwords are never right.
    package static let passwordByteCountMax = 4096

    static let hashByteCount = 32

    package let cost: ScryptCost

    package init(cost: ScryptCost = .standard) { self.cost = cost }

    /// The text to keep. A password longer than ``passwordByteCountMax`` is an error.
    package func hash(_ password: [UInt8]) throws(CryptographyError) -> String {
        guard password.count <= Self.passwordByteCountMax else { throw CryptographyError("the password is too long") }
        var kept = KeptPassword(
            scheme: .scrypt(cost), salt: Cryptography.randomBytes(16),
            hash: [UInt8](repeating: 0, count: Self.hashByteCount))
        kept.hash = try kept.hash(of: password)
        return kept.text
    }

    /// Compares a password with a stored hash.
    ///
    /// - parameter kept: the text, or nil for a user who does not exist or has no password: that takes as long as a
    /// wrong password.
    package func verify(_ password: [UInt8], against kept: String?) -> Verdict {
        guard password.count <= Self.passwordByteCountMax, let kept = kept.flatMap(KeptPassword.init) else {
            _ = try? hash([])
            return .wrong
        }
        guard let hash = try? kept.hash(of: password), Cryptography.areEqual(hash, kept.hash) else {
            // Hashes of other systems may be made faster than those of users who are not there.
            if kept.scheme != .scrypt(cost) { _ = try? self.hash([]) }
            return .wrong
        }
        return .right(needsNewHash: kept.scheme != .scrypt(cost))
    }
}
