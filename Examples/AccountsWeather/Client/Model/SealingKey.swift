import CHearthOpenSSL
import HearthExampleKit

/// What a password opens: a key for what is kept, and another password for the server. Neither tells the other, nor the
/// password itself.
struct MasterKeys: Sendable {
    let sealing: SealingKey
    /// With what the server knows the user.
    let serverPassword: String

    /// Both are the same on every device; the password for one server is of no use at another one. Takes a third of a
    /// second and 32 MiB, on purpose: each guess of a password costs as much.
    ///
    /// - parameter server: the server's URL.
    @concurrent
    static func derived(userName: String, password: String, server: String) async throws -> MasterKeys {
        let salt = Array("hearth-accounts/\(userName)".utf8)
        let password = password.utf8.map { CChar(bitPattern: $0) }
        var keys = [UInt8](repeating: 0, count: 64)
        guard EVP_PBE_scrypt(password, password.count, salt, salt.count, 1 << 15, 8, 3, 64 << 20, &keys, 64) == 1 else {
            throw Problem("The keys cannot be made.")
        }
        let authority = Array(Self.authority(of: server).utf8)
        var serverKey = [UInt8](repeating: 0, count: 32)
        guard HMAC(EVP_sha256(), Array(keys[32...]), 32, authority, authority.count, &serverKey, nil) != nil else {
            throw Problem("The keys cannot be made.")
        }
        return MasterKeys(sealing: SealingKey(Array(keys[..<32])), serverPassword: Base64Text.encode(serverKey))
    }

    /// Host and port, as all URLs of a server have them.
    static func authority(of url: String) -> String {
        let rest = url.lowercased().split(separator: "://", maxSplits: 1).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        // An address of IPv6 is in brackets.
        let behind = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        return behind.contains(":") ? String(authority) : authority + ":443"
    }
}

/// Seals texts with AES-256-GCM: who has no key can neither read nor change them, nor put one in the place of another.
/// The sealed form is Base64 of nonce (12 bytes), text and tag (16 bytes); each has a nonce of its own, by chance.
struct SealingKey: Sendable {
    private static let nonceCount = 12
    private static let tagCount = 16

    private let bytes: [UInt8]

    /// - parameter bytes: 32 of them.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// - parameter place: where it is kept; it opens nowhere else.
    func seal(_ text: String, for place: String) throws(Problem) -> String {
        var nonce = [UInt8](repeating: 0, count: Self.nonceCount)
        guard RAND_bytes(&nonce, Int32(nonce.count)) == 1, let context = EVP_CIPHER_CTX_new() else {
            throw Self.failure
        }
        defer { EVP_CIPHER_CTX_free(context) }
        let (text, place) = (Array(text.utf8), Array(place.utf8))
        var sealed = [UInt8](repeating: 0, count: text.count)
        var tag = [UInt8](repeating: 0, count: Self.tagCount)
        var count: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, bytes, nonce) == 1,
            EVP_EncryptUpdate(context, nil, &count, place, Int32(place.count)) == 1,
            EVP_EncryptUpdate(context, &sealed, &count, text, Int32(text.count)) == 1,
            EVP_EncryptFinal_ex(context, nil, &count) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { throw Self.failure }
        return Base64Text.encode(nonce + sealed + tag)
    }

    /// Nil for what was not sealed with this key for this place.
    func open(_ sealed: String, for place: String) -> String? {
        guard let all = Base64Text.decode(sealed), all.count >= Self.nonceCount + Self.tagCount,
            let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let nonce = Array(all.prefix(Self.nonceCount))
        var tag = Array(all.suffix(Self.tagCount))
        let text = Array(all.dropFirst(Self.nonceCount).dropLast(Self.tagCount))
        let place = Array(place.utf8)
        var opened = [UInt8](repeating: 0, count: text.count)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, bytes, nonce) == 1,
            EVP_DecryptUpdate(context, nil, &count, place, Int32(place.count)) == 1,
            EVP_DecryptUpdate(context, &opened, &count, text, Int32(text.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1,
            EVP_DecryptFinal_ex(context, nil, &count) == 1
        else { return nil }
        return String(decoding: opened, as: UTF8.self)
    }

    private static let failure = Problem("It cannot be sealed.")
}

/// Bytes as text (RFC 4648, section 4).
enum Base64Text {
    static func encode(_ bytes: [UInt8]) -> String {
        // One more for the zero at the end.
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }

    static func decode(_ text: String) -> [UInt8]? {
        let text = Array(text.utf8)
        let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        let count = EVP_DecodeBlock(&bytes, text, Int32(text.count))
        return count < padding || count > bytes.count ? nil : Array(bytes.prefix(Int(count) - padding))
    }
}
