import HearthAdmin
import HearthClient

/// Administers a server as a back end does: users, claims, tokens, rules, data that rules close.
///
///     Office KEY-FILE URL
@main
struct Office {
    static func main() async throws {
        let admin = try Administrator(keyFile: CommandLine.arguments[1])
        let user = try await admin.createUser(NewUser(email: "bob@example.com", password: "secret1"))
        try await admin.setCustomClaims(["role": "editor"], of: user.uid)
        print("user: \(try await admin.user(email: "bob@example.com").email ?? "")")

        try await admin.setRules(#"{"rules": {".read": "auth.token.role == 'editor'", ".write": false}}"#)
        do {
            try await admin.checkRules(#"{"rules": {".read": "nonsense"}}"#)
        } catch {
            print("rules: refused")
        }

        let database = try admin.database()
        try await database.reference(withPath: "points").child(user.uid).setValue(7)
        print("points: \(try await database.reference(withPath: "points").getData().childrenCount)")
        await database.close()

        let auth = try Auth(url: CommandLine.arguments[2])
        let session = try await auth.signIn(withCustomToken: try admin.customToken(uid: user.uid)).user
        let token = try await admin.verifyIDToken(try await session.getIDToken())
        print("token: \(token.uid == user.uid)")
        try await admin.deleteUser(user.uid)
        do {
            _ = try await admin.user(uid: user.uid)
        } catch {
            print("deleted: \(error.code == .userNotFound)")
        }
    }
}
