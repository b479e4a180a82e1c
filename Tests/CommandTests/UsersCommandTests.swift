import HearthServerSupport
import HearthBytes
import HearthEventLoop
import HearthHTTPCodec
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing
import HearthClientSession
import HearthConnection

@Suite("The command for users", .timeLimit(.minutes(15)))
struct UsersCommandTests {
    private let folder = TemporaryFolder()

    /// A server in production, and a key for it.
    private struct Setting {
        let server: ServerProcess
        let environment: [String: String]

        init(_ folder: String, _ name: String = "data") async throws {
            TemporaryFolder.write(Array(#"{"rules":{}}"#.utf8), to: folder + "/rules.json")
            let data = folder + "/" + name
            server = try await ServerProcess(data, isDevelopment: false, "--rules", folder + "/rules.json")
            let key = folder + "/\(name).json"
            try #require(try await HearthProcess.run("admin", "create-key", key, "--data", data).code == 0)
            environment = ["HEARTH_KEY": key]
        }

        func users(_ words: String..., input: String = "") async throws -> HearthProcess.Outcome {
            let process = try HearthProcess(["users"] + words, environment: environment)
            if !input.isEmpty { process.write(input) }
            return try await process.outcome()
        }

        /// The error of a sign-in; nil if there is none.
        func signIn(_ email: String, _ password: String) async throws -> String? {
            var call = HTTPCall(
                try HTTPAddress(
                    "http://\(server.address)/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=app"))
            call.method = .post
            call.body = JSONObject(["email": .text(email), "password": .text(password)]).bytes
            let loop = try TestLoop()
            do {
                _ = try await call.answer(on: loop.loop)
                return nil
            } catch {
                return "\(error)"
            }
        }
    }

    @Test("users are made, found, changed, disabled and removed by id, address or number")
    func life() async throws {
        let setting = try await Setting(folder.path)
        let made = try await setting.users(
            "create", "--uid", "ann", "--email", "ann@example.com", "--password", "-", "--name", "Ann", "--phone",
            "+15555550100", "--verified", "yes", input: "secret1\n")
        #expect(made == .init(code: 0, output: "ann\n", errors: ""))
        #expect(try await setting.users("create", "--email", "bob@example.com").output.utf8.count == 29)
        #expect(try await setting.signIn("ann@example.com", "secret1") == nil)
        let list = try await setting.users("list")
        #expect(list.output.contains("ann\tann@example.com\tAnn\n"))
        #expect(list.output.contains("\tbob@example.com\t-\n"))
        for name in ["ann", "ann@example.com", "+15555550100"] {
            #expect(try await setting.users("get", name).output.contains(#""localId":"ann""#))
        }
        #expect(try await setting.users("update", "ann", "--name", "", "--phone", "").code == 0)
        #expect(try await setting.users("claims", "ann").output == "{}\n")
        #expect(try await setting.users("claims", "ann", #"{"role":"editor"}"#).code == 0)
        #expect(try await setting.users("claims", "ann").output == #"{"role":"editor"}"# + "\n")
        #expect(try await setting.users("disable", "ann", "bob@example.com").code == 0)
        #expect(try await setting.users("list").output.contains("ann\tann@example.com\t-\tdisabled\tclaims\n"))
        #expect(try await setting.signIn("ann@example.com", "secret1")?.contains("USER_DISABLED") == true)
        #expect(try await setting.users("enable", "ann").code == 0)
        #expect(try await setting.users("revoke", "ann").code == 0)
        #expect(try await setting.users("claims", "ann", "{}").code == 0)
        #expect(try await setting.users("list").output.contains("ann\tann@example.com\t-\n"))
        let unsure = try await setting.users("delete", "ann", "bob@example.com")
        #expect(unsure.code == 1)
        #expect(unsure.errors.contains("delete ann, bob@example.com for good: -y says"))
        #expect(try await setting.users("delete", "ann", "bob@example.com", "--yes").code == 0)
        #expect(try await setting.users("list").output.isEmpty)
        let gone = try await setting.users("get", "ann")
        #expect(gone.code == 1)
        #expect(gone.errors == "hearth users get: there is no user 'ann'\n")
        let refused = try await setting.users("create", "--email", "nonsense")
        #expect(refused.code == 1)
        #expect(refused.errors.contains("INVALID_EMAIL"))
    }

    @Test("what is exported is imported elsewhere, passwords included")
    func transfer() async throws {
        let first = try await Setting(folder.path, "first")
        for number in 0..<3 {
            _ = try await first.users(
                "create", "--uid", "u\(number)", "--email", "u\(number)@example.com", "--password", "secret\(number)")
        }
        _ = try await first.users("claims", "u1", #"{"level":1}"#)
        let file = folder.path + "/users.json"
        #expect(try await first.users("export", file).code == 0)
        let plain = try users(in: file)
        #expect(plain.count == 3)
        #expect(plain.allSatisfy { $0["passwordHash"] == nil && $0["localId"] != nil })
        #expect(try await first.users("export", file, "--passwords", "--overwrite").code == 0)
        let entry = try #require(try users(in: file).dropFirst().first)
        #expect(entry["customAttributes"]?.text == #"{"level":1}"#)
        #expect(entry["passwordHash"] != nil)
        #expect(entry["salt"] != nil)
        #expect(entry["validSince"] == nil)
        #expect(entry["providerUserInfo"]?.array?.isEmpty == true)

        let second = try await Setting(folder.path, "second")
        #expect(try await second.users("import", file).output == "3 of 3 users imported\n")
        #expect(try await second.users("claims", "u1").output == #"{"level":1}"# + "\n")
        #expect(try await second.users("export").output == (try await first.users("export").output))
        #expect(try await second.signIn("u2@example.com", "secret2") == nil)
    }

    @Test("the users of one kind of password are written for other importers, with the options that tell it")
    func kinds() async throws {
        let setting = try await Setting(folder.path)
        let file = folder.path + "/users.json"
        // HMAC-SHA256 of "secret1salt" with the key "key", twice, and a user without a password.
        let hash = Cryptography.hmacSHA256(Array("secret1salt".utf8), key: Array("key".utf8))
        let encoded = String(decoding: Base64.standard.encode(hash), as: UTF8.self)
        let config = #"{"hashAlgorithm":"HMAC_SHA256","signerKey":"a2V5"}"#
        let text = """
            {"users":[{"localId":"a","email":"a@example.com","passwordHash":"\(encoded)","salt":"c2FsdA=="},
            {"localId":"b","email":"b@example.com","passwordHash":"\(encoded)","salt":"c2FsdA=="},
            {"localId":"c","email":"c@example.com"}],"hashConfig":\(config)}
            """
        TemporaryFolder.write(Array(text.utf8), to: file)
        #expect(try await setting.users("import", file).output == "3 of 3 users imported\n")
        _ = try await setting.users("create", "--uid", "d", "--email", "d@example.com", "--password", "secret2")
        let all = try await setting.users("export", file, "--passwords", "--overwrite")
        let options = "--hash-algo=HMAC_SHA256 --hash-key=BASE64 --hash-input-order=PASSWORD_FIRST"
        #expect(all.errors.contains("2 passwords hashed with \(options)\n"), "\(all.errors)")
        #expect(all.errors.contains("1 passwords hashed with --hash-algo=STANDARD_SCRYPT"))
        let mixed = try users(in: file)
        #expect(mixed.map { $0["hashConfig"] != nil } == [true, true, false, false])
        #expect(mixed.map { $0["passwordHash"] != nil } == [true, true, false, true])

        let ofOneKind = try await setting.users(
            "export", file, "--passwords", "--hash-algo", "hmac_sha256", "--overwrite")
        #expect(ofOneKind.code == 0)
        let whole = try JSONValue(parsing: TemporaryFolder.contents(of: file)).object
        #expect(whole?["hashConfig"]?.object?["signerKey"]?.text == "a2V5")
        let chosen = try users(in: file)
        #expect(chosen.map { $0["localId"]?.text } == ["a", "b"])
        // The Firebase tools refuse members that they do not know.
        #expect(chosen.allSatisfy { $0["hashConfig"] == nil })
        let other = try await Setting(folder.path, "other")
        #expect(try await other.users("import", file).output == "2 of 2 users imported\n")
        #expect(try await other.signIn("b@example.com", "secret1") == nil)
        let misused = try await setting.users("export", "--hash-algo", "BCRYPT")
        #expect(misused.code == 64)
        #expect(misused.errors.contains("--hash-algo needs --passwords"))
    }

    private func users(in file: String) throws -> [JSONObject] {
        let text = try JSONValue(parsing: TemporaryFolder.contents(of: file))
        return try #require(text.object?["users"]?.array).compactMap(\.object)
    }

    @Test("hashes of bcrypt are taken; a sign-in makes them again; what cannot be imported is named")
    func bcrypt() async throws {
        let setting = try await Setting(folder.path)
        let hash = "$2b$04$abcdefghijklmnopqrstuulb1Zm9aRMo8zIpU5l2zE2b/dAnXv2O6"
        let encoded = String(decoding: Base64.standard.encode(Array(hash.utf8)), as: UTF8.self)
        let file = folder.path + "/users.json"
        let text = """
            {"users":[
            {"localId":"cat","email":"cat@example.com","passwordHash":"\(encoded)","lastSignedInAt":"1700000000000"},
            {"localId":"dan","email":"cat@example.com"}]}
            """
        TemporaryFolder.write(Array(text.utf8), to: file)
        let unsaid = try await setting.users("import", file)
        #expect(unsaid.code == 64)
        #expect(unsaid.errors.contains("--hash-algo says how they were made"))
        let outcome = try await setting.users("import", file, "--hash-algo", "BCRYPT")
        #expect(outcome.code == 1)
        #expect(outcome.output == "1 of 2 users imported\n")
        #expect(outcome.errors.contains("user 2 (dan): email exists in other account in database"), "\(outcome)")
        #expect(try await setting.users("get", "cat").output.contains(#""lastLoginAt":"1700000000000""#))
        // Where it is exported to, it is of the same kind.
        let exported = try await setting.users("export", file, "--passwords", "--overwrite")
        #expect(exported.errors == "hearth users export: 1 passwords hashed with --hash-algo=BCRYPT\n")
        let entry = try #require(try users(in: file).first)
        #expect(entry["passwordHash"]?.text == encoded)
        #expect(entry["hashConfig"] != nil)
        let other = try await Setting(folder.path, "other")
        #expect(try await other.users("import", file).output == "1 of 1 users imported\n")
        #expect(try await other.signIn("cat@example.com", "sécret1") == nil)
        #expect(try await setting.signIn("cat@example.com", "wrong") != nil)
        #expect(try await setting.signIn("cat@example.com", "sécret1") == nil)
        let made = try await setting.users("export", "--passwords", "--hash-algo", "STANDARD_SCRYPT")
        #expect(made.output.contains("passwordHash"))
        #expect(made.errors.contains("--mem-cost=16384"))
        #expect(try await setting.signIn("cat@example.com", "sécret1") == nil)
    }

    @Test(
        "what is not understood is explained",
        arguments: [
            (["frob"], "there is no 'users frob'"), (["lst"], "(did you mean 'list'?)"),
            (["get"], "too few words; usage: users get USER"), (["update", "a"], "no option says what to change"),
            (["update", "a", "--uid", "b"], "'users update' has no option --uid"),
            (["list", "--email", "b"], "'users list' has no option --email"),
            (["create", "--email", ""], "--email is empty"), (["import", "/none"], "cannot read /none"),
            (["create", "a@example.com", "--email", "a@example.com"], "EMAIL and --email are the same"),
            (["create", "--verified", "x"], "--verified is yes or no"), (["--frob"], "unknown option --frob"),
        ])
    func usage(words: [String], message: String) async throws {
        let outcome = try await HearthProcess(["users"] + words).outcome()
        #expect(outcome.code == 64, "\(outcome)")
        #expect(outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errors.contains(message), "\(outcome)")
    }
}
