import HearthJSONWebTokens
import HearthSystem

/// The secrets of the first Firebase SDKs (Protocol.md 19.3). A secret is an administrator's credential, and makes the
/// tokens of users: see ``LegacyToken``.
package struct LegacySecrets: Secret, Sendable {
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    private let secrets: [[UInt8]]

    /// Those of Firebase have 40 characters; a shorter one than this is easier to guess than a key (RFC 7518, section
    /// 3.2).
    package static let byteCountMin = 32
    package static let countMax = 16

    /// Reads a file that only its owner may read: a secret in each line. Empty lines do not count.
    package init(file path: String) throws(Failure) {
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch {
            throw Failure(description: error.description)
        }
        guard let text else { throw Failure(description: "\(path) is not there") }
        var secrets: [[UInt8]] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let secret = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if secret.isEmpty { continue }
            guard secret.count >= Self.byteCountMin, secret.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw Failure(
                    description: "\(path):\(index + 1): a secret has at least \(Self.byteCountMin) visible characters")
            }
            secrets.append(Array(secret))
        }
        guard 1...Self.countMax ~= secrets.count else {
            throw Failure(description: "\(path) must hold 1 to \(Self.countMax) secrets, one in each line")
        }
        self.secrets = secrets
    }

    /// Whether a credential is one of the secrets.
    func contain(_ credential: [UInt8]) -> Bool { secrets.contains { Cryptography.areEqual($0, credential) } }

    /// Checks a token that one of the secrets has made.
    ///
    /// - parameter now: seconds since 1970.
    func verify(_ token: JSONWebToken, now: Int64) throws(TokenError) -> LegacyToken {
        try token.verify(secrets: secrets)
        return try LegacyToken(token, now: now)
    }
}
