import CHearthCrypt
import Glibc
import HearthJSONWebTokens

/// bcrypt by way of the system's libcrypt: for passwords that come from elsewhere.
enum BCrypt {
    /// 2^16 rounds are some seconds.
    private static let logarithms = 4...16

    /// Whether bytes are a hash of bcrypt, `$2b$10$` and 53 characters of salt and hash, that does not cost too much.
    static func isHash(_ text: [UInt8]) -> Bool {
        guard text.count == 60, text.starts(with: "$2".utf8), "abxy".utf8.contains(text[2]), text[3] == text[6],
            text[3] == UInt8(ascii: "$"), let logarithm = Int(String(decoding: text[4..<6], as: UTF8.self))
        else { return false }
        return logarithms.contains(logarithm) && text[7...].allSatisfy { alphabet.contains($0) }
    }

    private static let alphabet = Set("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// The hash of a password with the salt and the cost of another. Of long passwords the first 72 bytes count.
    static func hash(of password: [UInt8], as other: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard isHash(other) else { throw CryptographyError("no hash of bcrypt") }
        // The library takes texts that end with a NUL.
        guard !password.contains(0) else { throw CryptographyError("bcrypt cannot hash a NUL") }
        var memory: UnsafeMutableRawPointer?
        var size: Int32 = 0
        defer { free(memory) }
        let hash = crypt_ra(
            (password + [0]).map { CChar(bitPattern: $0) }, (other + [0]).map { CChar(bitPattern: $0) }, &memory, &size)
        guard let hash else { throw CryptographyError("bcrypt is not to be had") }
        return Array(String(cString: hash).utf8)
    }
}
