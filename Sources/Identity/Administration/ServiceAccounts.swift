import Glibc
import HearthJSONValues
package import HearthJSONWebTokens
import Synchronization
import HearthSystem

/// A key that administrators' programs hold: its holder may do everything.
package struct ServiceAccountPublicKey: Sendable {
    package let id: String
    /// The account's name, an e-mail address by custom.
    package let email: String
    /// When it was made, in seconds since 1970.
    package let createdAt: Int64
    let key: VerificationKey

    /// For people: the service account and its key.
    var name: String { "\(email)/\(id)" }
}

/// The public halves of the service accounts' keys, in a file of the data folder. Any thread.
///
/// The command line adds and removes keys while a server runs. A server notices when it is asked for a key: it looks at
/// the file's date, which takes a microsecond.
package final class ServiceAccounts: Sendable {
    private struct State {
        var keys: [ServiceAccountPublicKey] = []
        var version = FileVersion()
        /// Why the file could not be read the last time.
        var failure: KeyStoreError?
    }

    /// The state that changes when the file is replaced.
    private struct FileVersion: Equatable {
        var inode: UInt = 0
        var seconds = 0
        var nanoseconds = 0
    }

    private let path: String
    private let state = Mutex(State())
    private struct Observer {
        var changed: @Sendable (_ before: [String], _ now: [String]) -> Void
        var failed: @Sendable (KeyStoreError) -> Void
    }
    private let observer = Mutex<Observer?>(nil)

    /// Reads the keys in `folder`; there may be none.
    package init(folder: String) throws(KeyStoreError) {
        path = folder + "/service-accounts.json"
        try reloadIfChanged()
    }

    /// Calls `changed` with the names of the keys before and after each change, when it is noticed, and `failed` when a
    /// change cannot be read: the keys before it then stay valid.
    package func observe(
        changed: @escaping @Sendable (_ before: [String], _ now: [String]) -> Void,
        failed: @escaping @Sendable (KeyStoreError) -> Void
    ) {
        observer.withLock { $0 = Observer(changed: changed, failed: failed) }
    }

    // MARK: Reading

    package var keys: [ServiceAccountPublicKey] {
        try? reloadIfChanged()
        return state.withLock { $0.keys }
    }

    /// The keys that may have signed a token of `issuer`: that of the token's key name, or all of the account if it has
    /// none.
    package func verificationKeys(_ keyID: [UInt8]?, issuer: [UInt8]) -> [VerificationKey] {
        keys.filter { key in
            key.email.utf8.elementsEqual(issuer) && (keyID.map { key.id.utf8.elementsEqual($0) } ?? true)
        }.map(\.key)
    }

    func contains(keyID: [UInt8], email: [UInt8]) -> Bool { !verificationKeys(keyID, issuer: email).isEmpty }

    private func reloadIfChanged() throws(KeyStoreError) {
        var information = stat()
        var version = FileVersion()
        if stat(path, &information) == 0 {
            version = FileVersion(
                inode: UInt(information.st_ino), seconds: information.st_mtim.tv_sec,
                nanoseconds: information.st_mtim.tv_nsec)
        }
        if state.withLock({ $0.version == version }) { return }
        let keys: [ServiceAccountPublicKey]
        do throws(KeyStoreError) { keys = try read() } catch {
            // The earlier keys stay. A damaged file is read again when it changes; any other failure may pass before.
            let isNew = state.withLock { state in
                if case .damaged = error { state.version = version }
                defer { state.failure = error }
                return state.failure != error
            }
            if isNew { observer.withLock { $0 }?.failed(error) }
            throw error
        }
        let before = state.withLock { state in
            defer { (state.keys, state.version, state.failure) = (keys, version, nil) }
            return state.keys
        }
        observer.withLock { $0 }?.changed(before.map(\.name), keys.map(\.name))
    }

    private func read() throws(KeyStoreError) -> [ServiceAccountPublicKey] {
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch { throw .file(error) }
        guard let text else { return [] }
        guard let entries = (try? JSONValue(parsing: text))?.object?["keys"]?.array else { throw .damaged(path: path) }
        var keys: [ServiceAccountPublicKey] = []
        for entry in entries {
            guard let entry = entry.object, let id = entry["id"]?.text, let email = entry["email"]?.text,
                let createdAt = entry["createdAt"]?.integer, let pem = entry["publicKey"]?.utf8,
                let key = try? VerificationKey(pem: pem)
            else { throw .damaged(path: path) }
            keys.append(ServiceAccountPublicKey(id: id, email: email, createdAt: createdAt, key: key))
        }
        return keys
    }

    // MARK: Changing

    /// Makes a key, keeps its public half, and answers the file for the administrator's programs, in Google's format
    /// for service accounts (accounts.md 11). The private key is nowhere else. Takes 0.1 to 0.6 s.
    ///
    /// - parameter tokenURI: where the programs exchange the key for access tokens: this server's `/token`.
    package func makeKey(
        email: String, project: String, tokenURI: String, now: Int64
    ) throws(KeyStoreError) -> [UInt8] {
        let key: SigningKey
        let pem: [UInt8]
        do throws(CryptographyError) {
            key = try SigningKey.make()
            pem = try key.privatePEM()
        } catch { throw .key(error) }
        let added = ServiceAccountPublicKey(id: key.id, email: email, createdAt: now, key: key.verificationKey)
        try write(try currentKeys() + [added])
        return JSONObject([
            "type": .text("service_account"), "project_id": .text(project), "private_key_id": .text(key.id),
            "private_key": .string(pem), "client_email": .text(email), "client_id": .text(email),
            "token_uri": .text(tokenURI),
        ]).bytes
    }

    /// Removes a key: its tokens are then refused. False if there is no key of that name.
    package func removeKey(_ id: String) throws(KeyStoreError) -> Bool {
        var all = try currentKeys()
        let count = all.count
        all.removeAll { $0.id.utf8.elementsEqual(id.utf8) }
        if all.count == count { return false }
        try write(all)
        return true
    }

    // MARK: Other nodes

    /// The present file; nil if it does not exist.
    package var fileText: [UInt8]? { (try? PrivateFile.read(path)) ?? nil }

    /// Takes over the keys that another node has, instead of its own.
    package func adopt(_ text: [UInt8]) throws(KeyStoreError) {
        do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: text) } catch { throw .file(error) }
        try reloadIfChanged()
    }

    /// The keys of a file that another node has changed, with the keys added to and removed from this node's own.
    package static func merge(base: [UInt8], own: [UInt8], shared: [UInt8]) -> [UInt8] {
        func entries(_ text: [UInt8]) -> [(id: [UInt8], entry: JSONValue)] {
            let keys = (try? JSONValue(parsing: text))?.object?["keys"]?.array ?? []
            return keys.compactMap { entry in entry.object?["id"]?.utf8.map { ($0, entry) } }
        }
        let (before, now, others) = (entries(base), entries(own), entries(shared))
        let removed = Set(before.map(\.id)).subtracting(now.map(\.id))
        let known = Set(before.map(\.id)).union(others.map(\.id))
        let kept = others.filter { !removed.contains($0.id) } + now.filter { !known.contains($0.id) }
        return JSONObject(["keys": .array(kept.map(\.entry))]).bytes
    }

    private func currentKeys() throws(KeyStoreError) -> [ServiceAccountPublicKey] {
        try reloadIfChanged()
        return state.withLock { $0.keys }
    }

    private func write(_ keys: [ServiceAccountPublicKey]) throws(KeyStoreError) {
        var entries: [JSONValue] = []
        do throws(CryptographyError) {
            for key in keys {
                entries.append(
                    .object(
                        JSONObject([
                            "id": .text(key.id), "email": .text(key.email), "createdAt": .integer(key.createdAt),
                            "publicKey": .string(try key.key.publicPEM()),
                        ])))
            }
        } catch { throw .key(error) }
        let text = JSONObject(["keys": .array(entries)]).bytes
        do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: text) } catch { throw .file(error) }
        try reloadIfChanged()
    }
}
