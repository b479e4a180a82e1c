import HearthSQLite
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthIdentity

@Suite("Rows of accounts that nodes share")
struct SharedRowTests {
    private let folder = TemporaryFolder()
    private let realm = Realm(project: "hearth")

    private func open(_ name: String) throws -> AccountFile {
        try AccountFile(path: "\(folder.path)/\(name)", survivesPowerLoss: false, isShared: true)
    }

    private func user(_ id: String, _ email: String?) -> User {
        var user = User(id: id, createdAt: 1)
        user.email = email
        return user
    }

    @Test("a change is refused after a failure that has ended the transaction of others, and changes nothing")
    func endedTransaction() throws {
        let file = try open("a.sqlite")
        let ann = user("ann", nil)
        var failure: AccountFailure?
        #expect(throws: StorageError.self) {
            _ = try file.transaction {
                // As SQLite does when the disk is full.
                try? file.connection.execute("ROLLBACK")
                do throws(AccountFailure) {
                    try file.part { () throws(AccountFailure) in try file.put(ann, in: realm) }
                } catch {
                    failure = error
                }
            }
        }
        #expect(failure != nil)
        #expect(try file.users(realm, after: "", limit: 10).isEmpty)
    }

    /// Makes the same change in both files.
    @discardableResult
    private func share(
        _ files: [AccountFile], _ version: Int64, _ body: (AccountFile) throws(AccountFailure) -> Void
    ) throws -> [[Revocation]] {
        var failure: AccountFailure?
        let rows = try files[0].rehearse {
            do throws(AccountFailure) { try body(files[0]) } catch { failure = error }
        }
        #expect(failure == nil)
        let commit = SharedCommit(version: version, author: "n1 1", rows: rows)
        return try files.map { file in
            let place = try file.place() ?? SharedCommit.Place()
            let outcome = try file.take(after: place) { (take) throws(StorageError) in
                try take(commit, UInt64(version))
                return (UInt64(version), 1)
            }
            return try #require(outcome).revocations
        }
    }

    private func emails(_ file: AccountFile) throws -> [String?] {
        try file.users(realm, after: "", limit: 10).map(\.email)
    }

    @Test("a rehearsal changes nothing; its rows change every file, also those that take two addresses from each other")
    func exchange() throws {
        let files = [try open("a"), try open("b")]
        try share(files, 1) { (file) throws(AccountFailure) in
            try file.put(user("1", "a@example.com"), in: realm)
            try file.put(user("2", "b@example.com"), in: realm)
        }
        let exchange: (AccountFile) throws(AccountFailure) -> Void = { (file) throws(AccountFailure) in
            try file.put(user("1", nil), in: realm)
            try file.put(user("2", "a@example.com"), in: realm)
            try file.put(user("1", "b@example.com"), in: realm)
        }
        _ = try files[0].rehearse { try? exchange(files[0]) }
        #expect(try emails(files[0]) == ["a@example.com", "b@example.com"])
        try share(files, 2, exchange)
        for file in files {
            #expect(try emails(file) == ["b@example.com", "a@example.com"])
            #expect(try file.place()?.version == 2)
        }
    }

    @Test("rows tell what users lose: tokens, the account for a while, and for good")
    func losses() throws {
        let files = [try open("a"), try open("b")]
        var user = user("1", "a@example.com")
        user.links = [ProviderLink(provider: "google.com", rawID: "g/1 ü")]
        var told: [[Revocation]] = []
        for version in 1...4 {
            if version == 2 { user.validSince = 5 }
            if version == 3 { user.isDisabled = true }
            let state = user
            told = try share(files, Int64(version)) { (file) throws(AccountFailure) in
                if version < 4 { try file.put(state, in: realm) } else { try file.removeUser(realm, id: "1") }
            }
            let expected: [Revocation.Loss] = [[], [.tokensBefore(5)], [.disabled], [.account]][version - 1]
            #expect(told.map { $0.map(\.loss) } == [expected, expected])
            if version < 4 { #expect(try files[1].user(realm, provider: "google.com", rawID: "g/1 ü") == state) }
        }
        #expect(try files[1].user(realm, id: "1") == nil)
    }

    @Test("all rows, piece by piece, make the same accounts")
    func pieces() throws {
        let files = [try open("a")]
        try share(files, 1) { (file) throws(AccountFailure) in
            for number in 0..<20 { try file.put(user("\(number)", "\(number)@example.com"), in: realm) }
            let grant = RefreshGrant(user: "1", provider: "password", claims: nil, issuedAt: 7, authenticatedAt: 8)
            try file.put(grant, hash: [0, 255, 128], in: realm)
        }
        let other = try open("b")
        var count = 0
        try files[0].forEachPiece(byteCount: 500) { (piece) throws(StorageError) in
            count += 1
            try other.takePiece(piece)
        }
        #expect(count > 3)
        #expect(try other.users(realm, after: "", limit: 100) == files[0].users(realm, after: "", limit: 100))
        #expect(try other.grant(hash: [0, 255, 128])?.grant.issuedAt == 7)
    }
}
