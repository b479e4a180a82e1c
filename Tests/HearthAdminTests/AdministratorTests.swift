import HearthAdmin
import HearthClient
import HearthJSONValues
import HearthTestSupport
import Testing

@Suite("An administrator in Swift", .timeLimit(.minutes(15)))
struct AdministratorTests {
    @Test("reads, checks and replaces the rules of a database, and a mistake changes nothing")
    func rules() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        #expect(try await admin.rules() == AdminServer.rules)
        let open = "{\n  // For everybody.\n  \"rules\": { \".read\": true }\n}\n"
        try await admin.checkRules(open)
        #expect(try await admin.rules() == AdminServer.rules)
        try await admin.setRules(open, ofDatabase: "shop")
        #expect(try await admin.rules(ofDatabase: "shop") == open)
        #expect(try await admin.rules() == AdminServer.rules)
        let error = await #expect(throws: AdminError.self) {
            try await admin.setRules("{\n \"rules\": {\".read\": \"auth.uid ==\"}}", ofDatabase: "shop")
        }
        #expect(error?.code == .invalidRules, "\(String(describing: error))")
        #expect(error?.message.hasPrefix("2:") == true, "\(String(describing: error))")
        #expect(try await code { try await admin.checkRules("{}") } == .invalidRules)
        #expect(try await admin.rules(ofDatabase: "shop") == open)
    }

    @Test("reads, checks and replaces the settings of a database, and a mistake changes nothing")
    func settings() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        let none = try await admin.settings()
        let text = "{\n  // Names\n  \"settings\": {\"users\": {\".unique\": \"name\"}}\n}\n"
        try await admin.checkSettings(text, ofDatabase: "shop")
        #expect(try await admin.settings(ofDatabase: "shop") == none)
        try await admin.setSettings(text, ofDatabase: "shop")
        #expect(try await admin.settings(ofDatabase: "shop") == text)
        try await admin.removeSettings(ofDatabase: "shop")
        #expect(try await admin.settings(ofDatabase: "shop") == none)
        try await admin.setSettings(text, ofDatabase: "shop")
        let error = await #expect(throws: AdminError.self) {
            try await admin.setSettings(#"{"settings":{".uniqe":1}}"#, ofDatabase: "shop")
        }
        #expect(error?.code == .invalidRules)
        #expect(error?.message.hasPrefix("1:14:") == true)
        #expect(try await code { try await admin.checkSettings("{}") } == .invalidRules)
        #expect(try await admin.settings(ofDatabase: "shop") == text)
        #expect(try await admin.settings() == none)
    }

    @Test("replaces rules and settings in one step, and a mistake in either changes neither")
    func rulesAndSettings() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        let (rules, settings) = (#"{"rules": {".read": true}}"#, #"{"settings": {"users": {".unique": "name"}}}"#)
        try await admin.checkRules(rules, settings: settings)
        #expect(try await admin.rules() == AdminServer.rules)
        try await admin.setRules(rules, settings: settings)
        #expect(try await admin.rules() == rules)
        #expect(try await admin.settings() == settings)
        let error = await #expect(throws: AdminError.self) {
            try await admin.setRules(#"{"rules": {}}"#, settings: "{\n\"settings\": 7}")
        }
        #expect(error?.code == .invalidRules)
        #expect(error?.message.hasPrefix("settings:2:") == true, "\(String(describing: error))")
        #expect(try await code { try await admin.checkRules("{}", settings: settings) } == .invalidRules)
        #expect(try await admin.rules() == rules)
    }

    @Test("writes data that no rules restrict, and users read it as the rules say")
    func data() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        let user = try await server.auth().createUser(withEmail: "ann@example.com", password: "secret1").user
        let database = try admin.database()
        try await database.reference(withPath: user.uid).setValue(["balance": 5])
        #expect(try await database.reference().getData().childrenCount == 1)
        await database.close()
        // At the listener of the clients, too.
        let atPublic = try admin.database(url: server.url)
        #expect(try await atPublic.reference(withPath: "\(user.uid)/balance").getData().value == 5)
        await atPublic.close()
    }

    @Test("shares one access token, and gets another one when the server no longer accepts it")
    func tokens() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try await admin.rules() } }
            for try await rules in group { #expect(rules == AdminServer.rules) }
        }
        try server.removeKeys()
        let error = await #expect(throws: AdminError.self) { try await admin.rules() }
        #expect(error?.code == .unauthenticated, "\(String(describing: error))")
    }

    @Test("says what is wrong with a key, a URL or a server")
    func failures() async throws {
        func failure(_ make: () throws -> Administrator) -> AdminError? {
            #expect(throws: AdminError.self) { _ = try make() }
        }
        let folder = TemporaryFolder()
        #expect(failure { try Administrator(keyFile: folder.path + "/none") }?.code == .invalidKey)
        let file = folder.path + "/key.json"
        TemporaryFolder.write(Array("{}".utf8), to: file)
        let wrong = failure { try Administrator(keyFile: file) }
        #expect(wrong?.code == .invalidKey)
        #expect(wrong?.message.contains(file) == true)
        #expect(failure { try Administrator(key: Array("{}".utf8)) }?.message.contains("private_key_id") == true)
        #expect(failure { try Administrator(developmentURL: "localhost") }?.code == .invalidURL)
        let options = AdminOptions(certificateAuthorityFile: "/none")
        #expect(failure { try Administrator(developmentURL: "https://h", options: options) }?.code == .invalidURL)

        let nobody = try Administrator(developmentURL: "http://127.0.0.1:1")
        let unreachable = await #expect(throws: AdminError.self) { try await nobody.rules() }
        #expect(unreachable?.code == .unavailable)
        #expect(unreachable?.message.contains("127.0.0.1:1") == true)

        let server = try AdminServer()
        let withoutKey = try Administrator(developmentURL: server.adminURL)
        #expect(try await code { _ = try await withoutKey.rules() } == .unauthenticated)
        #expect(try await code { _ = try await withoutKey.user(uid: "ann") } == .unauthenticated)
        let atPublic = try Administrator(developmentURL: server.url)
        #expect(try await code { _ = try await atPublic.user(uid: "ann") } == .notForAdministrators)
        #expect(try await code { _ = try await atPublic.rules() } == .notForAdministrators)
        // A key of another server.
        let stranger = try Administrator(key: try AdminServer().makeKey(tokenURI: server.adminURL + "/token"))
        #expect(try await code { _ = try await stranger.rules() } == .unauthenticated)
    }
}

@Suite("The example of a back end", .timeLimit(.minutes(15)))
struct BackendTests {
    @Test("gives points to the user whose token it is shown, and to nobody for another token")
    func points() async throws {
        let server = try AdminServer()
        let key = try server.makeKeyFile()
        let user = try await server.auth().createUser(withEmail: "ann@example.com", password: "secret1").user
        func run(_ token: String, _ points: String) async throws -> String {
            let terminal = try PseudoTerminal("hearth-backend", [key, token, points], columns: 200)
            _ = try await terminal.outcome()
            return terminal.screen.lines[0]
        }
        let token = try await user.getIDToken()
        #expect(try await run(token, "10") == "ann@example.com has 10 points")
        #expect(try await run(token, "5") == "ann@example.com has 15 points")
        #expect(try await run("stranger", "5") == "no points: the token is malformed")
    }
}
