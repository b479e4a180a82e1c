import HearthAdmin
import HearthClient

// The examples of the articles, word for word, so that they compile. `AdminArticleTests` compares them. They are not
// run.

private func overview() async throws {
    let admin = try Administrator(keyFile: "/etc/my-app/key.json")
    let user = try await admin.createUser(NewUser(email: "ann@example.com", password: "secret-1"))
    try await admin.setCustomClaims(["role": "editor"], of: user.uid)
}

private func development() throws -> Administrator {
    let admin = try Administrator(developmentURL: "http://127.0.0.1:9000")
    return admin
}

private func verifying(_ admin: Administrator, _ token: String) async throws {
    let user = try await admin.verifyIDToken(token)
    print(user.uid, user.claims["role"]?.string ?? "no role")
}

private func verifyingAlone(_ token: String) async throws -> DecodedIDToken {
    let verifier = try IDTokenVerifier(url: "https://db.example.com", projectID: "my-app")
    let user = try await verifier.verifyIDToken(token, checkRevoked: true)
    return user
}

private func custom(_ admin: Administrator) throws -> String {
    let token = try admin.customToken(uid: "ann", claims: ["role": "editor"])
    return token
}

private func claims(_ admin: Administrator, _ user: UserRecord) async throws {
    try await admin.setCustomClaims(["role": "editor"], of: user.uid)
    try await admin.setCustomClaims([:], of: user.uid)
    try await admin.revokeRefreshTokens(of: user.uid)
}

private func users(_ admin: Administrator) async throws {
    for try await user in admin.users where !user.isEmailVerified {
        print(user.uid, user.email ?? "no address")
    }
    let ann = try await admin.user(email: "ann@example.com")
    try await admin.updateUser(ann.uid, UserUpdate(displayName: .set("Ann Lee"), phoneNumber: .remove))
}

private func data(_ admin: Administrator) async throws {
    let database = try admin.database()
    try await database.reference(withPath: "prices/tea").setValue(2.5)
    let rules = try await admin.rules()
    try await admin.checkRules(rules)
    try await admin.setRules(rules)
}

private func triggers(_ admin: Administrator) async throws {
    for trigger in try await admin.triggers() where trigger.setAside > 0 {
        print(trigger.name, trigger.setAside, trigger.lastFailure ?? "")
    }
    for event in try await admin.setAsideEvents(ofTrigger: "ship") where event.path.hasPrefix("/orders/test-") {
        try await admin.dropEvents(ofTrigger: event.trigger, id: event.id)
    }
    try await admin.replayEvents(ofTrigger: "ship")
}

private func deleting(_ admin: Administrator, _ uid: String) async throws {
    do {
        try await admin.deleteUser(uid)
    } catch {
        switch error.code {
        case .userNotFound: break
        case .unavailable: print("try again later:", error.message)
        default: throw error
        }
    }
}

private struct Place { let url: String }

private func testing(_ server: Place) throws -> Administrator {
    let admin = try Administrator(developmentURL: server.url)
    return admin
}
