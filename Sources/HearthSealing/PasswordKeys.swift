import CHearthOpenSSL
import HearthBytes

/// Two keys of one password: one seals what only its user may read, the other makes passwords for servers. Neither
/// tells the other, nor the password itself, so a server at which a user signs in cannot open what is sealed.
public struct PasswordKeys: Sendable {
    /// For what only the user may read.
    public let sealing: SealingKey
    private let serverKey: [UInt8]

    /// Makes the keys of a password, with scrypt (RFC 7914: N = 32,768, r = 8, p = 3). They are the same on every
    /// device. Takes a third of a second and 32 MiB, as each guess of the password does.
    ///
    /// - parameters:
    ///   - password: as the user types it.
    ///   - salt: differs from user to user and from app to app, so that nobody guesses for many users at once; such as
    ///     `my-app/USER`. It is no secret.
    @concurrent
    public static func derived(from password: String, salt: String) async throws(SealingError) -> PasswordKeys {
        let (password, salt) = (password.utf8.map { CChar(bitPattern: $0) }, Array(salt.utf8))
        let count = 2 * SealingKey.byteCount
        var keys = [UInt8](repeating: 0, count: count)
        guard
            EVP_PBE_scrypt(password, password.count, salt, salt.count, 1 << 15, 8, 3, 64 << 20, &keys, count) == 1,
            let sealing = SealingKey(Array(keys[..<SealingKey.byteCount]))
        else { throw SealingError("The keys cannot be made.") }
        return PasswordKeys(sealing: sealing, serverKey: Array(keys[SealingKey.byteCount...]))
    }

    /// The password with which the user signs in at a server: HMAC-SHA-256 of its host and port, as Base64. It is of no
    /// use at any other server.
    ///
    /// - parameter server: the server's URL. Its scheme, path and query do not count.
    public func password(forServer server: String) -> String {
        let authority = Array(Self.authority(of: server).utf8)
        var code = [UInt8](repeating: 0, count: 32)
        // Fails only without memory for a few hundred bytes.
        guard HMAC(EVP_sha256(), serverKey, Int32(serverKey.count), authority, authority.count, &code, nil) != nil
        else {
            preconditionFailure("no memory")
        }
        return String(decoding: Base64.standard.encode(code), as: UTF8.self)
    }

    /// Host and port, as all URLs of a server have them.
    static func authority(of url: String) -> String {
        let rest = url.lowercased().split(separator: "://", maxSplits: 1).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        // An address of IPv6 is in brackets.
        let end = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        return end.contains(":") ? String(authority) : authority + ":443"
    }
}
