import HearthJSONValues
import HearthStorageErrors
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthIdentity

@Suite("Accounts that earlier versions took over") struct EarlierAccountsTests {
    /// Puts a user into the file of the accounts without any check of an import.
    private func put(_ user: User, _ fixture: AccountsFixture) throws {
        let file = try AccountFile(path: fixture.folder.path + "/accounts.sqlite", survivesPowerLoss: false)
        let realm = fixture.realm
        var failure: AccountFailure?
        _ = try file.transaction {
            do throws(AccountFailure) { try file.put(user, in: realm) } catch { failure = error }
        }
        try #require(failure == nil)
    }

    @Test("a user with two accounts of one provider signs in with each of them")
    func twoLinks() throws {
        let fixture = try AccountsFixture()
        let problem = Mutex<StorageError?>(nil)
        fixture.accounts.observeStorage { error in problem.withLock { $0 = $0 ?? error } }
        var ann = User(id: "ann", createdAt: 1)
        ann.links = ["1", "2"].map { ProviderLink(provider: "google.com", rawID: $0) }
        try put(ann, fixture)
        for rawID in ["1", "2"] {
            let identity = ProviderIdentity(provider: "google.com", rawID: rawID, profile: JSONObject())
            let outcome = try fixture.accounts.signIn(
                identity, linkingTo: nil, createsAccount: false, in: fixture.realm)
            guard case .signedIn(let signIn, _) = outcome else {
                Issue.record("\(rawID) is not signed in")
                return
            }
            #expect(signIn.user.id == "ann")
            #expect(signIn.user.links.map(\.rawID) == ["1", "2"])
        }
        #expect(problem.withLock { $0 } == nil)
    }
}
