import CHearthOpenSSL

/// Texts that only those who have a key can read, or make (AES-256-GCM, NIST SP 800-38D).
extension Cryptography {
    private static let nonceSize = 12
    private static let tagSize = 16

    /// `nonce:12 ciphertext tag:16`; the nonce is random.
    ///
    /// - parameter key: of 32 bytes.
    package static func seal(_ bytes: [UInt8], key: [UInt8]) throws(CryptographyError) -> [UInt8] {
        precondition(key.count == 32)
        guard let context = EVP_CIPHER_CTX_new() else { throw .last("seal a text") }
        defer { EVP_CIPHER_CTX_free(context) }
        let nonce = randomBytes(nonceSize)
        var text = [UInt8](repeating: 0, count: bytes.count)
        var tag = [UInt8](repeating: 0, count: tagSize)
        var (count, rest): (Int32, Int32) = (0, 0)
        guard EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, &text, &count, bytes, Int32(bytes.count)) == 1, count == bytes.count,
            // Nothing is left: the cipher has no blocks.
            EVP_EncryptFinal_ex(context, &tag, &rest) == 1, rest == 0,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagSize), &tag) == 1
        else { throw .last("seal a text") }
        return nonce + text + tag
    }

    /// Nil if the text was not sealed with this key, or was changed.
    package static func open(sealed: [UInt8], key: [UInt8]) throws(CryptographyError) -> [UInt8]? {
        precondition(key.count == 32)
        guard sealed.count >= nonceSize + tagSize else { return nil }
        guard let context = EVP_CIPHER_CTX_new() else { throw .last("open a sealed text") }
        defer { EVP_CIPHER_CTX_free(context) }
        let nonce = Array(sealed.prefix(nonceSize))
        let text = Array(sealed.dropFirst(nonceSize).dropLast(tagSize))
        var tag = Array(sealed.suffix(tagSize))
        var bytes = [UInt8](repeating: 0, count: text.count)
        var last = [UInt8](repeating: 0, count: tagSize)
        var (count, rest): (Int32, Int32) = (0, 0)
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &bytes, &count, text, Int32(text.count)) == 1, count == text.count,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagSize), &tag) == 1
        else { throw .last("open a sealed text") }
        guard EVP_DecryptFinal_ex(context, &last, &rest) == 1 else {
            ERR_clear_error()
            return nil
        }
        return bytes
    }
}
