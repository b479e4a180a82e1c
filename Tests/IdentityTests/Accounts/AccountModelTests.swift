import HearthIdentity
import HearthTestSupport
import Testing

/// The accounts against a dictionary.
@Suite("Accounts against a model") struct AccountModelTests {
    private struct Entry: Equatable {
        var email: String?
        var phone: String?
        var name: String?
        var links: [String: String] = [:]
    }

    private struct Model {
        var users: [String: Entry] = [:]

        func owner(email: String) -> String? { users.first { $0.value.email == email }?.key }
        func owner(phone: String) -> String? { users.first { $0.value.phone == phone }?.key }
        func owner(_ provider: String, _ rawID: String) -> String? {
            users.first { $0.value.links[provider] == rawID }?.key
        }
    }

    @Test("random changes and look-ups agree", arguments: 0..<(8 * TestScale.factor))
    func random(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let fixture = try AccountsFixture()
        let (accounts, realm) = (fixture.accounts, fixture.realm)
        var model = Model()
        for step in 0..<150 {
            let id = "u\(Int.random(in: 0..<12, using: &random))"
            let email = "e\(Int.random(in: 0..<10, using: &random))@x"
            let phone = "+1\(Int.random(in: 0..<6, using: &random))"
            let provider = ["google.com", "oidc.a"].randomElement(using: &random)!
            let rawID = "r\(Int.random(in: 0..<6, using: &random))"
            let place: Comment = "seed \(seed), step \(step)"
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                var new = NewUser()
                new.id = id
                new.email = Bool.random(using: &random) ? email : nil
                new.phone = Bool.random(using: &random) ? phone : nil
                let expected: AccountError.Code? =
                    model.users[id] != nil
                    ? .duplicateLocalID
                    : new.email != nil && model.owner(email: email) != nil
                        ? .emailExists
                        : new.phone != nil && model.owner(phone: phone) != nil ? .phoneNumberExists : nil
                #expect(code { try accounts.create(new, in: realm) } == expected, place)
                if expected == nil { model.users[id] = Entry(email: new.email, phone: new.phone) }
            case 3..<5:
                var change = UserChange()
                change.email = email
                change.displayName = "n\(step)"
                let owner = model.owner(email: email)
                let expected: AccountError.Code? =
                    model.users[id] == nil ? .userNotFound : owner != nil && owner != id ? .emailExists : nil
                #expect(code { try accounts.update(.user(id), change, in: realm) } == expected, place)
                if expected == nil {
                    model.users[id]?.email = email
                    model.users[id]?.name = "n\(step)"
                }
            case 5..<7:
                var change = UserChange()
                change.link = ProviderLink(provider: provider, rawID: rawID)
                let owner = model.owner(provider, rawID)
                let expected: AccountError.Code? =
                    model.users[id] == nil
                    ? .userNotFound : owner != nil && owner != id ? .federatedUserAlreadyLinked : nil
                #expect(code { try accounts.update(.user(id), change, in: realm) } == expected, place)
                if expected == nil { model.users[id]?.links[provider] = rawID }
            case 7:
                var change = UserChange()
                change.deletedProviders = [provider, "phone"]
                change.deletedAttributes = ["EMAIL"]
                let expected: AccountError.Code? = model.users[id] == nil ? .userNotFound : nil
                #expect(code { try accounts.update(.user(id), change, in: realm) } == expected, place)
                model.users[id]?.links[provider] = nil
                model.users[id]?.phone = nil
                model.users[id]?.email = nil
            case 8:
                #expect(
                    code { try accounts.delete(user: id, in: realm) } == (model.users[id] == nil ? .userNotFound : nil),
                    place)
                model.users[id] = nil
            default:
                #expect(try accounts.lookUp([.email(email)], in: realm).first?.id == model.owner(email: email), place)
                #expect(try accounts.lookUp([.phone(phone)], in: realm).first?.id == model.owner(phone: phone), place)
                #expect(
                    try accounts.lookUp([.federated(provider: provider, rawID: rawID)], in: realm).first?.id
                        == model.owner(provider, rawID), place)
            }
        }
        try compare(accounts, realm, model, "seed \(seed)")
    }

    private func compare(_ accounts: Accounts, _ realm: Realm, _ model: Model, _ place: Comment) throws {
        var found: [String: Entry] = [:]
        var last = ""
        while true {
            let page = try accounts.users(in: realm, after: last, limit: 5)
            for user in page {
                #expect(user.id > last, place)
                last = user.id
                var entry = Entry(email: user.email, phone: user.phone, name: user.displayName)
                for link in user.links { entry.links[link.provider] = link.rawID }
                found[user.id] = entry
            }
            if page.count < 5 { break }
        }
        #expect(found == model.users, place)
        #expect(try accounts.userCount(in: realm) == model.users.count, place)
    }

    private func code<Outcome>(_ body: () throws -> Outcome) -> AccountError.Code? {
        do {
            _ = try body()
            return nil
        } catch AccountFailure.refused(let error) {
            return error.code
        } catch {
            Issue.record("\(error)")
            return nil
        }
    }

    @Test("an import takes what it can, and says by index what is wrong with the rest (accounts.md 4)")
    func importing() throws {
        let fixture = try AccountsFixture()
        _ = try fixture.signUp("taken@example.com")
        func user(_ id: String, _ configure: (inout User) -> Void = { _ in }) -> ImportedUser {
            var user = User(id: id, createdAt: 1)
            configure(&user)
            return ImportedUser(user: user)
        }
        var imported = [
            user("a") { $0.email = "A@example.com" },
            user("b") { $0.email = "taken@example.com" },
            user(""),
            user("c") { $0.email = "nothing" },
            user("d") { $0.phone = "12" },
            user("e") { $0.claims = #"{"sub":1}"# },
            user("f") { $0.claims = "{}" },
            user("g") { $0.links = [ProviderLink(provider: "google.com", rawID: "1")] },
            user("h") { $0.links = [ProviderLink(provider: "google.com", rawID: "1")] },
            user("i") { $0.links = ["2", "3"].map { ProviderLink(provider: "google.com", rawID: $0) } },
            user("long") { $0.displayName = String(repeating: "x", count: 1025) },
            user("longer") { $0.photoURL = String(repeating: "x", count: 2049) },
            user("longest"),
            user("j") { $0.links = ["4", "4"].map { ProviderLink(provider: "google.com", rawID: $0) } },
            // In a token each of these bytes takes six.
            user("escaped") { $0.photoURL = String(repeating: "\u{1}", count: 400) },
        ]
        imported[0].plainPassword = "secret1"
        imported[12].plainPassword = String(repeating: "x", count: 4097)
        let problems = try fixture.accounts.importUsers(imported, overwrites: false, in: fixture.realm)
        #expect(problems.map(\.index) == [1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 14])
        #expect(
            problems.map(\.message)
                == [
                    "email exists in other account in database", "localId is missing", "email is invalid",
                    "phone number format is invalid", "Custom claims provided include a reserved claim.",
                    "raw id exists in other account in database",
                    "providerUserInfo has two accounts of one provider", "displayName is too long",
                    "photoUrl is too long", "password is too long", "photoUrl is too long",
                ])
        #expect(try fixture.signIn("a@example.com").user.id == "a")
        #expect(try fixture.accounts.lookUp([.id("f")], in: fixture.realm).first?.claims == "{}")
        let again = try fixture.accounts.importUsers([user("a")], overwrites: false, in: fixture.realm)
        #expect(again.map(\.message) == ["localId belongs to an existing account - can not overwrite."])
        #expect(try fixture.accounts.importUsers([user("a")], overwrites: true, in: fixture.realm).isEmpty)
    }

    @Test("of many users to be deleted, those who are not disabled stay unless it is insisted on")
    func deletion() throws {
        let fixture = try AccountsFixture()
        for (id, isDisabled) in [("a", true), ("b", false), ("c", true)] {
            var new = NewUser()
            new.id = id
            new.isDisabled = isDisabled
            _ = try fixture.accounts.create(new, in: fixture.realm)
        }
        let ids = ["a", "b", "none", "c"]
        #expect(try fixture.accounts.delete(users: ids, force: false, in: fixture.realm) == [1])
        #expect(try fixture.accounts.users(in: fixture.realm, after: "", limit: 9).map(\.id) == ["b"])
        #expect(try fixture.accounts.delete(users: ids, force: true, in: fixture.realm) == [])
        #expect(try fixture.accounts.userCount(in: fixture.realm) == 0)
    }
}
