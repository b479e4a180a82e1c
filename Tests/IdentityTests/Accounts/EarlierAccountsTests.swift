import HearthJSONValues
import HearthSQLite
import HearthStorageErrors
import HearthSystem
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

    @Test("a name that is too long to be shared is no obstacle on a server that is alone; no cluster begins with it")
    func longName() throws {
        let folder = TemporaryFolder()
        let rawID = String(repeating: "x", count: 600)
        do {
            let fixture = try AccountsFixture(in: folder)
            let ann = try fixture.signUp("ann@example.com").user
            var change = UserChange()
            change.link = ProviderLink(provider: "oidc.a", rawID: "1")
            _ = try fixture.accounts.update(.user(ann.id), change, in: fixture.realm)
            let file = try AccountFile(path: folder.path + "/accounts.sqlite", survivesPowerLoss: false)
            try file.connection.execute("UPDATE links SET rawID = '\(rawID)'")
            try file.connection.execute("UPDATE links SET checksum = \(AccountTable.links.checksum())")
            let identity = ProviderIdentity(provider: "oidc.a", rawID: rawID, profile: JSONObject())
            guard
                case .signedIn = try fixture.accounts.signIn(
                    identity, linkingTo: nil, createsAccount: false, in: fixture.realm)
            else {
                Issue.record("not signed in")
                return
            }
        }
        let node = try AccountsFixture(in: folder) { $0.areShared = true }
        let log = EmptyLog()
        let isTold = Semaphore()
        node.accounts.observeStorage { error in
            if error?.message.contains("a name in links is too long") == true { isTold.signal() }
        }
        node.accounts.begin(log)
        node.accounts.arrived()
        try #require(isTold.wait(atMost: Patience.limit))
        #expect(log.proposals.withLock { $0 } == 0)
    }

    /// The log of a cluster that has no accounts.
    private final class EmptyLog: AccountSharing {
        let node = "n1"
        /// The commits that were proposed.
        let proposals = Mutex(0)

        func forEachCommit(
            after place: SharedCommit.Place, _ body: (SharedCommit, UInt64) throws(StorageError) -> Void
        ) throws(StorageError) -> (sequence: UInt64, epoch: UInt64)? { (0, 1) }

        func hasHad(_ place: SharedCommit.Place) -> Bool { true }

        func propose(_ commit: SharedCommit?, isRepeated: Bool, then: @escaping @Sendable (ProposalOutcome) -> Void) {
            if commit != nil { proposals.withLock { $0 += 1 } }
            then(.refused(newest: 0))
        }

        func readAll(
            _ piece: @escaping @Sendable ([SharedRow]) -> Void,
            then: @escaping @Sendable (SharedCommit.Place?) -> Void
        ) {
            then(nil)
        }
    }
}
