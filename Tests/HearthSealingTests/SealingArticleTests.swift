import HearthClient
import HearthSealing
import HearthTestSupport
import Testing

@Suite("The article about sealing")
struct SealingArticleTests {
    /// Compiled and not run.
    private func example(
        _ auth: Auth, _ database: Database, name: String, email: String, password: String
    ) async throws -> String? {
        let keys = try await PasswordKeys.derived(from: password, salt: "my-app/\(name)")
        let user = try await auth.signIn(
            withEmail: email, password: keys.password(forServer: "https://db.example.com")
        ).user
        let secrets = database.reference(withPath: "secrets").child(user.uid)
        try await secrets.child("bank").setValue(try keys.sealing.seal("4711", for: "bank"))
        let sealed = try await secrets.child("bank").getData().string
        let pin = sealed.flatMap { keys.sealing.open($0, for: "bank") }
        return pin
    }

    @Test("shows code that compiles")
    func examples() throws {
        func joined(_ text: some StringProtocol) -> String {
            text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
        }
        let project = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        let source = joined(String(decoding: TemporaryFolder.contents(of: #filePath), as: UTF8.self))
        let path = "\(project)/Sources/HearthSealing/Documentation.docc/HearthSealing.md"
        let article = String(decoding: TemporaryFolder.contents(of: path), as: UTF8.self)
        let blocks = article.matches(of: #/```swift\n((?s:.*?))```/#)
        #expect(blocks.count == 1)
        for block in blocks {
            let isThere = source.contains(joined(block.1))
            #expect(isThere, "\(block.1)")
        }
    }
}
