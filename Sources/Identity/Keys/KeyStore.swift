import HearthJSONValues
package import HearthJSONWebTokens
import Synchronization
package import HearthSystem

/// Why the keys could not be read or kept.
package enum KeyStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    case file(PrivateFile.Failure)
    /// This program does not write such files. It is left alone.
    case damaged(path: String)
    case key(CryptographyError)

    package var description: String {
        switch self {
        case .file(let failure): failure.description
        case .damaged(let path): "\(path) does not hold signing keys"
        case .key(let error): error.description
        }
    }
}

/// The keys that sign this server's tokens: kept in a file, changed from time to time, published for those who verify
/// them. Any thread.
///
/// A new key is published for ``leadSeconds`` before it signs, so that clients that cache the documents for as long as
/// allowed know it in time, and stays published until every token that it signed has expired.
package final class KeyStore: Sendable {
    /// How long a key signs: 30 days.
    package static let rotationSeconds: Int64 = 30 * 86_400
    /// How long the published documents may be kept (`Cache-Control: max-age`), and how long a key is published before
    /// it signs: 6 hours.
    package static let leadSeconds: Int64 = 6 * 3_600
    /// The longest life of a token: a session cookie's 14 days (accounts.md 6).
    package static let tokenSecondsMax: Int64 = 14 * 86_400

    private struct Entry {
        var key: SigningKey
        /// Seconds since 1970.
        var signsFrom: Int64
        var certificate: [UInt8]
    }

    private struct State {
        /// By `signsFrom`; never empty.
        var entries: [Entry]
        var jwks: [UInt8] = []
        var certificates: [UInt8] = []

        init(_ entries: [Entry]) throws(CryptographyError) {
            self.entries = entries
            jwks = KeyDocuments.jwks(entries.map(\.key))
            certificates = KeyDocuments.certificates(entries.map { ($0.key.id, $0.certificate) })
        }
    }

    private let path: String
    private let state: Mutex<State>

    /// Reads the keys in `folder`, or makes the first, which takes 0.1 to 0.6 s. Also does due rotations, see
    /// ``rotate(now:)``.
    ///
    /// - parameter now: seconds since 1970.
    package init(folder: String, now: Int64) throws(KeyStoreError) {
        path = folder + "/signing-keys.json"
        let entries: [Entry]
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch { throw .file(error) }
        if let text {
            guard let read = KeyStore.entries(text), !read.isEmpty else { throw .damaged(path: path) }
            entries = read
        } else {
            entries = [try KeyStore.makeEntry(signsFrom: now)]
            try KeyStore.write(entries, to: path)
        }
        do throws(CryptographyError) { state = Mutex(try State(entries)) } catch { throw .key(error) }
        try rotate(now: now)
    }

    // MARK: Keys

    /// The key that signs now.
    package func signingKey(now: Int64) -> SigningKey {
        state.withLock { state in (state.entries.last { $0.signsFrom <= now } ?? state.entries[0]).key }
    }

    /// The public key of a name, if it is published; a token of this server names its key.
    package func verificationKeys(_ id: [UInt8]?) -> [VerificationKey] {
        guard let id else { return [] }
        return state.withLock { state in
            state.entries.filter { $0.key.id.utf8.elementsEqual(id) }.map(\.key.verificationKey)
        }
    }

    /// The public keys as a JWK set (RFC 7517, section 5).
    package var jwks: [UInt8] { state.withLock { $0.jwks } }

    /// The public keys as certificates: an object with a PEM text for each name (accounts.md 6).
    package var certificates: [UInt8] { state.withLock { $0.certificates } }

    // MARK: Rotation

    /// When ``rotate(now:)`` has something to do next, in seconds since 1970.
    package var nextRotation: Int64 {
        state.withLock { state in
            let newKey = state.entries[state.entries.count - 1].signsFrom + Self.rotationSeconds - Self.leadSeconds
            guard state.entries.count > 1 else { return newKey }
            return min(newKey, state.entries[1].signsFrom + Self.tokenSecondsMax)
        }
    }

    /// Makes the next key when it is time to publish it, and forgets those whose last token is over. Making a key takes
    /// 0.1 to 0.6 s: not on an event loop, and one call at a time. Answers whether anything changed. After an error
    /// everything is as before.
    @discardableResult
    package func rotate(now: Int64) throws(KeyStoreError) -> Bool {
        guard nextRotation <= now else { return false }
        var entries = state.withLock { $0.entries }
        while entries.count > 1, entries[1].signsFrom + Self.tokenSecondsMax <= now { entries.removeFirst() }
        let end = entries[entries.count - 1].signsFrom + Self.rotationSeconds
        if end - Self.leadSeconds <= now {
            entries.append(try KeyStore.makeEntry(signsFrom: max(end, now + Self.leadSeconds)))
        }
        try KeyStore.write(entries, to: path)
        do throws(CryptographyError) {
            let next = try State(entries)
            state.withLock { $0 = next }
        } catch { throw .key(error) }
        return true
    }

    // MARK: Other nodes

    /// The file as it is now; nil if it cannot be read.
    package var fileText: [UInt8]? { (try? PrivateFile.read(path)) ?? nil }

    /// Takes over the keys that another node has, instead of its own.
    package func adopt(_ text: [UInt8]) throws(KeyStoreError) {
        guard let entries = KeyStore.entries(text), !entries.isEmpty else { throw .damaged(path: path) }
        let next: State
        do throws(CryptographyError) { next = try State(entries) } catch { throw .key(error) }
        do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: text) } catch { throw .file(error) }
        state.withLock { $0 = next }
    }

    private static func makeEntry(signsFrom: Int64) throws(KeyStoreError) -> Entry {
        do throws(CryptographyError) {
            let key = try SigningKey.make()
            let end = signsFrom + rotationSeconds + tokenSecondsMax
            let certificate = try key.certificate(validity: signsFrom - leadSeconds..<end)
            return Entry(key: key, signsFrom: signsFrom, certificate: certificate)
        } catch { throw .key(error) }
    }

    // MARK: The file

    private static func entries(_ text: [UInt8]) -> [Entry]? {
        guard let keys = (try? JSONValue(parsing: text))?.object?["keys"]?.array else { return nil }
        var entries: [Entry] = []
        for key in keys {
            guard let key = key.object, let id = key["kid"]?.text, let pem = key["privateKey"]?.utf8,
                let signsFrom = key["signsFrom"]?.integer, 0...(1 << 53) ~= signsFrom,
                let certificate = key["certificate"]?.utf8, let signingKey = try? SigningKey(id: id, pem: pem),
                entries.last.map({ $0.signsFrom < signsFrom }) ?? true
            else { return nil }
            entries.append(Entry(key: signingKey, signsFrom: signsFrom, certificate: certificate))
        }
        return entries
    }

    private static func write(_ entries: [Entry], to path: String) throws(KeyStoreError) {
        var keys: [JSONValue] = []
        do throws(CryptographyError) {
            for entry in entries {
                let key = JSONObject([
                    "kid": .text(entry.key.id), "signsFrom": .integer(entry.signsFrom),
                    "privateKey": .string(try entry.key.privatePEM()), "certificate": .string(entry.certificate),
                ])
                keys.append(.object(key))
            }
        } catch { throw .key(error) }
        let text = JSONObject(["keys": .array(keys)]).bytes
        do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: text) } catch { throw .file(error) }
    }
}
