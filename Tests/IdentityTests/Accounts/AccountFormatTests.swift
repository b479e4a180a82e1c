import HearthSQLite
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthIdentity

@Suite("the format of the accounts' file")
struct AccountFormatTests {
    @Test("a file of an earlier version is read, and brought to this one", arguments: EarlierFolder.all)
    func earlier(version: String) throws {
        let folder = EarlierFolder(version)
        let file = folder.path + "/accounts.sqlite"
        for _ in 0..<2 {
            let accounts = try AccountFile(path: file, survivesPowerLoss: false)
            #expect(try accounts.integer("SELECT count(*) FROM users WHERE email = 'ann@example.com'", []) == 1)
            #expect(try accounts.integer("PRAGMA user_version", []) == 1)
        }
    }

    @Test("a file of a newer version is left alone, with a sentence that says so")
    func newer() throws {
        let folder = TemporaryFolder()
        let file = folder.path + "/accounts.sqlite"
        _ = try AccountFile(path: file, survivesPowerLoss: false)
        try Connection(path: file, mode: .readWrite).execute("PRAGMA user_version = 2")
        #expect(throws: StorageError.newerFormat(path: file, found: 2, known: 1)) {
            _ = try AccountFile(path: file, survivesPowerLoss: false)
        }
        #expect(try Connection(path: file, mode: .readOnly).integer("PRAGMA user_version") == 2)
    }
}
