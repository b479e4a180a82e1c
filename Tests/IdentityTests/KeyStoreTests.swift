import Glibc
import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct KeyStoreTests {
    private let folder = TemporaryFolder()
    private let start: Int64 = 1_700_000_000

    private var path: String { folder.path + "/signing-keys.json" }

    private func store(at now: Int64) throws -> KeyStore { try KeyStore(folder: folder.path, now: now) }

    @Test("keys outlive the server, in a file that only its owner reads")
    func persistence() throws {
        let key = try store(at: start).signingKey(now: start)
        let again = try store(at: start + 10)
        #expect(again.signingKey(now: start).id == key.id)
        let signature = try key.sign(bytes("x"))
        let keys = again.verificationKeys(bytes(key.id))
        #expect(keys.count == 1)
        #expect(keys.allSatisfy { $0.verifies(signature, of: bytes("x")) })
        #expect(again.verificationKeys(bytes("other")).isEmpty)
        #expect(again.verificationKeys(nil).isEmpty)
        var information = stat()
        #expect(stat(path, &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
        #expect(TemporaryFolder.files(in: folder.path) == ["signing-keys.json"])
    }

    @Test("a file of administrators' keys that could not be read is read again, and said to be unread once")
    func unreadKeys() throws {
        let file = folder.path + "/service-accounts.json"
        let accounts = try ServiceAccounts(folder: folder.path)
        let (changes, failures) = (Channel<Int>(), Channel<String>())
        accounts.observe { _, now in
            changes.put(now.count)
        } failed: {
            failures.put($0.description)
        }
        let commands = try ServiceAccounts(folder: folder.path)
        _ = try commands.makeKey(email: "a@b.c", project: "p", tokenURI: "http://h/token", now: start)
        #expect(accounts.keys.count == 1)
        #expect(try changes.next() == 1)
        #expect(try commands.removeKey(accounts.keys[0].id))
        chmod(file, 0o644)
        #expect(accounts.keys.count == 1)
        #expect(accounts.keys.count == 1)
        #expect(try failures.next().contains(file))
        chmod(file, 0o600)
        #expect(accounts.keys.isEmpty)
        #expect(try changes.next() == 0)
        failures.put("nothing else")
        #expect(try failures.next() == "nothing else")
    }

    @Test("a key signs for 30 days; the next is published before, the last until its tokens are over")
    func rotation() throws {
        let store = try store(at: start)
        let first = store.signingKey(now: start).id
        func published() throws -> [String] {
            let documents = [store.jwks, store.certificates].map { try? JSONValue(parsing: $0).object }
            let names = documents[0]?["keys"]?.array?.compactMap { $0.object?["kid"]?.text } ?? []
            #expect(documents[1]?.members.map { text($0.name) } == names)
            #expect(names.allSatisfy { store.verificationKeys(bytes($0)).count == 1 })
            return names
        }
        #expect(try published() == [first])
        let publication = start + KeyStore.rotationSeconds - KeyStore.leadSeconds
        #expect(store.nextRotation == publication)
        #expect(try !store.rotate(now: publication - 1))
        #expect(try store.rotate(now: publication))
        let change = start + KeyStore.rotationSeconds
        #expect(store.signingKey(now: change - 1).id == first)
        let second = store.signingKey(now: change).id
        #expect(second != first)
        #expect(try published() == [first, second])
        #expect(store.nextRotation == change + KeyStore.tokenSecondsMax)
        #expect(try !store.rotate(now: change + KeyStore.tokenSecondsMax - 1))
        #expect(try store.rotate(now: change + KeyStore.tokenSecondsMax))
        #expect(try published() == [second])
    }

    @Test("a server that was away for a year gives its new key the time to become known")
    func longAbsence() throws {
        let first = try store(at: start).signingKey(now: start).id
        let now = start + 365 * 86_400
        let store = try store(at: now)
        #expect(store.signingKey(now: now).id == first)
        #expect(store.signingKey(now: now + KeyStore.leadSeconds).id != first)
        #expect(store.nextRotation > now)
    }

    @Test("the certificates hold the keys that sign")
    func certificates() throws {
        let store = try store(at: start)
        let key = store.signingKey(now: start)
        let pem = try #require(JSONValue(parsing: store.certificates).object?[key.id]?.utf8)
        let signature = try key.sign(bytes("x"))
        #expect(try VerificationKey(pem: pem).verifies(signature, of: bytes("x")))
        let jwk = try #require(JSONValue(parsing: store.jwks).object?["keys"]?.array?.first?.object)
        #expect(try VerificationKey(jwk: jwk).verifies(signature, of: bytes("x")))
    }

    @Test(
        "a damaged file is reported and left alone",
        arguments: ["", "{", "{}", #"{"keys":[]}"#, #"{"keys":[{"kid":"a"}]}"#])
    func damaged(content: String) throws {
        TemporaryFolder.write(bytes(content), to: path)
        #expect(throws: KeyStoreError.damaged(path: path)) { try store(at: start) }
        #expect(TemporaryFolder.contents(of: path) == bytes(content))
    }

    @Test("a file that others may read is refused")
    func exposed() throws {
        _ = try store(at: start)
        #expect(chmod(path, 0o644) == 0)
        let error = #expect(throws: KeyStoreError.self) { try store(at: start) }
        #expect(error?.description == "others may read \(path), which holds secrets: chmod 600 it")
    }

    @Test("when the new key cannot be kept, the old one continues")
    func unwritable() throws {
        let store = try store(at: start)
        let first = store.signingKey(now: start).id
        // A folder of that name blocks the temporary file.
        #expect(mkdir(path + ".new", 0o700) == 0)
        let later = start + KeyStore.rotationSeconds
        let error = #expect(throws: KeyStoreError.self) { try store.rotate(now: later) }
        #expect(error?.description == "cannot make \(path).new: File exists")
        #expect(store.signingKey(now: later + KeyStore.leadSeconds).id == first)
        rmdir(path + ".new")
        #expect(try store.rotate(now: later))
    }
}
