import CHearthOpenSSL
import HearthBytes

/// Seals texts with AES-256-GCM (NIST SP 800-38D). Without the key they cannot be read, changed or exchanged for one
/// another.
///
/// A sealed text is Base64 (RFC 4648, section 4) of a random nonce of 12 bytes, the encrypted text and a tag of 16
/// bytes. Its length is four thirds of the text's plus 40 bytes. Equal texts are sealed differently each time. One key
/// can seal four thousand million texts.
public struct SealingKey: Sendable {
    /// The length of a key.
    public static let byteCount = 32

    private static let nonceCount = 12
    private static let tagCount = 16

    private let bytes: [UInt8]

    /// Makes a new random key.
    public init() throws(SealingError) {
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        guard RAND_bytes(&bytes, Int32(bytes.count)) == 1 else {
            throw SealingError("There is no source of randomness.")
        }
        self.bytes = bytes
    }

    /// Makes a key of 32 unguessable bytes. Fails for any other number of bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The key itself. Keep it secret.
    public var secret: [UInt8] { bytes }

    /// Seals a text of up to 2 GiB.
    ///
    /// - parameters:
    ///   - text: the text to seal.
    ///   - place: the place where the sealed text is stored, such as the key of a child. It cannot be opened for
    ///     another place.
    /// - returns: the sealed text.
    public func seal(_ text: String, for place: String) throws(SealingError) -> String {
        let (text, place) = (Array(text.utf8), Array(place.utf8))
        var nonce = [UInt8](repeating: 0, count: Self.nonceCount)
        guard let length = Int32(exactly: text.count), let placeLength = Int32(exactly: place.count),
            RAND_bytes(&nonce, Int32(nonce.count)) == 1, let context = EVP_CIPHER_CTX_new()
        else { throw SealingError("The text cannot be sealed.") }
        defer { EVP_CIPHER_CTX_free(context) }
        var sealed = [UInt8](repeating: 0, count: text.count)
        var tag = [UInt8](repeating: 0, count: Self.tagCount)
        var count: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, bytes, nonce) == 1,
            EVP_EncryptUpdate(context, nil, &count, place, placeLength) == 1,
            EVP_EncryptUpdate(context, &sealed, &count, text, length) == 1,
            EVP_EncryptFinal_ex(context, nil, &count) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { throw SealingError("The text cannot be sealed.") }
        return String(decoding: Base64.standard.encode(nonce + sealed + tag), as: UTF8.self)
    }

    /// Opens a sealed text.
    ///
    /// - parameters:
    ///   - sealed: a result of ``seal(_:for:)``.
    ///   - place: the place where it is stored.
    /// - returns: the text; nil if it was not sealed with this key for this place.
    public func open(_ sealed: String, for place: String) -> String? {
        guard let all = Base64.standard.decode(sealed.utf8), all.count >= Self.nonceCount + Self.tagCount,
            let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let nonce = Array(all.prefix(Self.nonceCount))
        var tag = Array(all.suffix(Self.tagCount))
        let (text, place) = (Array(all.dropFirst(Self.nonceCount).dropLast(Self.tagCount)), Array(place.utf8))
        guard let length = Int32(exactly: text.count), let placeLength = Int32(exactly: place.count) else { return nil }
        var opened = [UInt8](repeating: 0, count: text.count)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, bytes, nonce) == 1,
            EVP_DecryptUpdate(context, nil, &count, place, placeLength) == 1,
            EVP_DecryptUpdate(context, &opened, &count, text, length) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1,
            EVP_DecryptFinal_ex(context, nil, &count) == 1
        else { return nil }
        return String(decoding: opened, as: UTF8.self)
    }
}

/// Why a text could not be sealed: out of memory, or no source of randomness.
public struct SealingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for people.
    public let description: String

    init(_ description: String) { self.description = description }
}
