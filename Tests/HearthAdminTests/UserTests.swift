import HearthClient
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthAdmin

@Suite("Users, as administrators see them", .timeLimit(.minutes(15)))
struct UserTests {
    @Test(
        "have a time from which their tokens are valid, but not an impossible one",
        arguments: [
            (.text("1700000000"), 1_700_000_000_000), (.integer(1_700_000_000), 1_700_000_000_000), (nil, nil),
            (.text("9223372036854775807"), nil), (.integer(.min), nil), (.text("soon"), nil),
        ] as [(JSONValue?, Int?)])
    func validity(value: JSONValue?, milliseconds: Int?) throws {
        let user = try UserRecord(JSONObject(["localId": .text("ann"), "validSince": value]))
        #expect(user.tokensValidAfter == milliseconds)
    }

    @Test("are created, found in three ways, changed and deleted")
    func life() async throws {
        let server = try AdminServer()
        let admin = try Administrator(keyFile: try server.makeKeyFile())
        let ann = try await admin.createUser(
            NewUser(
                uid: "ann", email: "Ann@Example.com", isEmailVerified: true, password: "secret1", displayName: "Ann",
                photoURL: "https://example.com/ann", phoneNumber: "+15555550100"))
        #expect(ann.id == "ann")
        #expect(ann.email == "ann@example.com")
        #expect(ann.isEmailVerified)
        #expect(!ann.isDisabled)
        #expect(ann.displayName == "Ann")
        #expect(ann.photoURL == "https://example.com/ann")
        #expect(ann.providerData.map(\.providerID).sorted() == ["password", "phone"])
        #expect(try #require(ann.metadata.creationDate) > 1_700_000_000_000)
        #expect(ann.metadata.lastSignInDate == nil)
        #expect(try await admin.user(uid: "ann") == ann)
        #expect(try await admin.user(email: "ann@example.com") == ann)
        #expect(try await admin.user(phoneNumber: "+15555550100") == ann)

        let changed = try await admin.updateUser(
            "ann",
            UserUpdate(
                email: "lee@example.com", isEmailVerified: false, displayName: .set("Lee"), photoURL: .remove,
                phoneNumber: .remove))
        #expect(changed.email == "lee@example.com")
        #expect(!changed.isEmailVerified)
        #expect(changed.displayName == "Lee")
        #expect(changed.photoURL == nil)
        #expect(changed.phoneNumber == nil)
        #expect(try await admin.updateUser("ann", UserUpdate(displayName: .remove)).displayName == nil)
        #expect(try await admin.updateUser("ann", UserUpdate()).email == "lee@example.com")

        let auth = try server.auth()
        try await auth.signIn(withEmail: "lee@example.com", password: "secret1")
        #expect(try await admin.updateUser("ann", UserUpdate(isDisabled: true)).isDisabled)
        let error = await #expect(throws: AuthError.self) {
            try await auth.signIn(withEmail: "lee@example.com", password: "secret1")
        }
        #expect(error?.code == .userDisabled)
        try await admin.updateUser("ann", UserUpdate(password: "secret2", isDisabled: false))
        try await auth.signIn(withEmail: "lee@example.com", password: "secret2")

        try await admin.deleteUser("ann")
        #expect(try await code { _ = try await admin.user(uid: "ann") } == .userNotFound)
        #expect(try await code { try await admin.deleteUser("ann") } == .userNotFound)
    }

    @Test("are listed in the order of their ids, page by page")
    func list() async throws {
        let server = try AdminServer(isDevelopment: true)
        let admin = try Administrator(developmentURL: server.url, options: AdminOptions(projectID: "shop"))
        for try await user in admin.users { Issue.record("\(user)") }
        // More than a page of 1,000, with ids that mean something in URLs.
        let ids = (0..<1003).map { "u&\(1000 + $0) +%41#" }
        for batch in [ids[..<600], ids[600...]] {
            let users = batch.map { JSONValue.object(JSONObject(["localId": .text($0)])) }
            _ = try await admin.post(":batchCreate", JSONObject(["users": .array(users)]))
        }
        var seen: [String] = []
        for try await user in admin.users { seen.append(user.uid) }
        #expect(seen == ids)
        let other = try Administrator(developmentURL: server.url, options: AdminOptions(projectID: "other"))
        for try await user in other.users { Issue.record("\(user)") }
    }

    @Test("get custom claims, which their next ID token has, and lose them")
    func claims() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        let uid = try await admin.createUser(NewUser(email: "ann@example.com", password: "secret1")).uid
        let claims: [String: DatabaseValue] = ["role": "editor", "https://example.com/level": ["a.b": 3]]
        try await admin.setCustomClaims(claims, of: uid)
        #expect(try await admin.user(uid: uid).customClaims == claims)
        let auth = try server.auth()
        let user = try await auth.signIn(withEmail: "ann@example.com", password: "secret1").user
        let token = try await admin.verifyIDToken(try await user.getIDToken())
        #expect(token.claims["role"] == "editor")
        #expect(token.claims["https://example.com/level"] == ["a.b": 3])
        try await admin.setCustomClaims([:], of: uid)
        #expect(try await admin.user(uid: uid).customClaims.isEmpty)
        #expect(try await code { try await admin.setCustomClaims(["sub": "eve"], of: uid) } == .invalidClaims)
        let long = DatabaseValue.string(String(repeating: "x", count: 1000))
        #expect(try await code { try await admin.setCustomClaims(["a": long], of: uid) } == .claimsTooLarge)
        #expect(try await code { try await admin.setCustomClaims(["a": .double(.nan)], of: uid) } == .invalidClaims)
    }

    @Test("a request that the server refuses says why, in a sentence and with the server's word")
    func refusals() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        try await admin.createUser(NewUser(uid: "ann", email: "ann@example.com", phoneNumber: "+15555550100"))
        let refused: [(NewUser, AdminErrorCode, String)] = [
            (NewUser(email: "ann@example.com"), .emailAlreadyExists, "EMAIL_EXISTS"),
            (NewUser(uid: "ann"), .uidAlreadyExists, "DUPLICATE_LOCAL_ID"),
            (NewUser(phoneNumber: "+15555550100"), .phoneNumberAlreadyExists, "PHONE_NUMBER_EXISTS"),
            (NewUser(phoneNumber: "555"), .invalidPhoneNumber, "INVALID_PHONE_NUMBER"),
            (NewUser(email: "nonsense"), .invalidEmail, "INVALID_EMAIL"),
            (NewUser(email: "b@example.com", password: "12345"), .weakPassword, "WEAK_PASSWORD"),
        ]
        for (user, code, word) in refused {
            let error = await #expect(throws: AdminError.self) { try await admin.createUser(user) }
            #expect(error?.code == code, "\(String(describing: error))")
            #expect(error?.word == word, "\(String(describing: error))")
            let text = error?.description ?? ""
            #expect(text.hasSuffix("(\(word))"), "\(text)")
            #expect(text.contains(" "), "\(text)")
        }
        #expect(try await code { try await admin.updateUser("bob", UserUpdate(isDisabled: true)) } == .userNotFound)
    }
}
