import CHearthOpenSSL
import HearthBytes

/// Two keys derived from one password: one seals texts that only its user may read, the other makes passwords for
/// servers. Neither key reveals the other or the password, so a server at which the user signs in cannot open sealed
/// texts.
public struct PasswordKeys: Sendable {
    /// The key for texts that only the user may read.
    public let sealing: SealingKey
    private let serverKey: [UInt8]

    /// Derives the keys from a password, with scrypt (RFC 7914: N = 32,768, r = 8, p = 3). They are the same on every
    /// device. This takes a third of a second and 32 MiB, and so does each guess of the password.
    ///
    /// - parameters:
    ///   - password: as the user types it.
    ///   - salt: a text that differs between users and between apps, such as `my-app/USER`, so that a guess tests only
    ///     one user's password. It is not secret.
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

    /// The password with which the user signs in at a server: HMAC-SHA-256 of the server's host and port, as Base64. It
    /// is useless at any other server.
    ///
    /// - parameter server: the server's URL. Its scheme, path and query are ignored.
    public func password(forServer server: String) -> String {
        let authority = Array(Self.authority(of: server).utf8)
        var code = [UInt8](repeating: 0, count: 32)
        // Fails only if a few hundred bytes cannot be allocated.
        guard HMAC(EVP_sha256(), serverKey, Int32(serverKey.count), authority, authority.count, &code, nil) != nil
        else {
            preconditionFailure("no memory")
        }
        return String(decoding: Base64.standard.encode(code), as: UTF8.self)
    }

    /// Host and port in a form that is the same for all URLs of a server.
    static func authority(of url: String) -> String {
        let rest = url.lowercased().split(separator: "://", maxSplits: 1).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        // An IPv6 address is in brackets.
        let end = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        return end.contains(":") ? String(authority) : authority + ":443"
    }
}
