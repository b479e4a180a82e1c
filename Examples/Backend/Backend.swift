import HearthAdmin
import HearthClient

/// Gives points to a user. Rules let users read their points and not write them; this program writes them as an
/// administrator, for the user whose ID token it was shown.
@main
struct Backend {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 4, let points = Int(words[3]) else {
            return print("usage: hearth-backend KEY-FILE ID-TOKEN POINTS")
        }
        let admin = try Administrator(keyFile: words[1])
        do {
            let user = try await admin.verifyIDToken(words[2], checkRevoked: true)
            let database = try admin.database()
            let place = database.reference(withPath: "points").child(user.uid)
            try await place.setValue(ServerValue.increment(points))
            print("\(user.email ?? user.uid) has \(try await place.getData().value.int ?? 0) points")
            await database.close()
        } catch let error as AdminError {
            print("no points: \(error)")
        }
    }
}
