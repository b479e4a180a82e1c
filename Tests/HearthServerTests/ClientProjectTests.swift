import HearthJSONValues
import HearthServer
import HearthIdentity
import HearthJSONTree
import HearthJSONWebTokens
import HearthTestSupport
import Testing

@Suite("Any project that a client names, in development mode (accounts.md 3)", .timeLimit(.minutes(15)))
struct ClientProjectTests {
    private let folder = TemporaryFolder()

    private func client() throws -> IdentityClient { try IdentityClient(learnsProjects: true, folder: folder.path) }

    /// The project that an ID token is for.
    private func project(_ answer: IdentityClient.Answer, _ name: String = "idToken") throws -> String? {
        let token = try #require(answer[name], "\(answer.http.text)")
        let claims = try JSONWebToken(parsing: Array(token.utf8)).claims
        let project = try #require(claims["aud"]?.text)
        #expect(claims["iss"]?.text == "https://securetoken.google.com/\(project)")
        return project
    }

    private func signUp(_ client: IdentityClient, _ body: String = "{}", app: String) throws -> IdentityClient.Answer {
        try client.ask("POST", "/v1/accounts:signUp?key=any", body, ["X-Firebase-GMPID: \(app)"])
    }

    private func signIn(_ client: IdentityClient, key: String) throws -> IdentityClient.Answer {
        let body = #"{"email":"ann@example.com","password":"secret1"}"#
        return try client.ask("POST", "/v1/accounts:signInWithPassword?key=\(key)", body)
    }

    private let ann = #"{"localId":"ann","email":"ann@example.com","password":"secret1"}"#

    @Test("clients are of the project that a backend works with")
    func named() throws {
        let client = try client()
        #expect(try client.admin("accounts", ann, project: "my-app").status == 200)
        let signIn = try client.signIn("ann@example.com")
        #expect(signIn["localId"] == "ann")
        #expect(try project(signIn) == "my-app")
        #expect(try project(client.refresh(try #require(signIn["refreshToken"])), "id_token") == "my-app")
        let up = try client.signUp("bob@example.com")
        #expect(try project(up) == "my-app")
        let found = try client.admin("accounts:lookup", #"{"email":["bob@example.com"]}"#, project: "my-app")
        #expect(found.members["users"]?.array?.count == 1)
        #expect(try client.admin("accounts:query", "{}", project: "hearth")["recordsCount"] == "0")
    }

    @Test("accounts of clients that came first are those of the project that is named first, sessions included")
    func adopted() throws {
        let client = try client()
        let up = try client.signUp("ann@example.com")
        #expect(try project(up) == "hearth")
        let id = try #require(up["localId"])
        let found = try client.admin("accounts:lookup", #"{"localId":["\#(id)"]}"#, project: "my-app")
        #expect(found.members["users"]?.array?.count == 1)
        let idToken = try #require(up["idToken"])
        #expect(try client.post("lookup", #"{"idToken":"\#(idToken)"}"#).status == 200)
        #expect(try project(client.refresh(try #require(up["refreshToken"])), "id_token") == "my-app")
        #expect(try project(client.signIn("ann@example.com")) == "my-app")
        // Only the first name is taken for one that was missing.
        #expect(try client.admin("accounts:query", "{}", project: "other")["recordsCount"] == "0")
        #expect(try client.admin("accounts:query", "{}", project: "my-app")["recordsCount"] == "1")
    }

    @Test("projects have accounts of their own, found by token, code, key or user, whichever was named last")
    func several() throws {
        let client = try client()
        for project in ["p1", "p2"] {
            let answer = try client.admin(
                "accounts", ann.replacing("secret1", with: project == "p1" ? "secret1" : "secret2"), project: project)
            #expect(answer.status == 200)
        }
        // p2 was named last.
        #expect(try client.signIn("ann@example.com", "secret2")["localId"] == "ann")
        let first = try signIn(client, key: "p1")
        #expect(try project(first) == "p1")
        #expect(try signIn(client, key: "p2").error == "INVALID_PASSWORD")
        let idToken = try #require(first["idToken"])
        let update = try client.post("update", #"{"idToken":"\#(idToken)","displayName":"First"}"#)
        #expect(update["displayName"] == "First")
        let second = try client.admin("accounts:lookup", #"{"localId":["ann"]}"#, project: "p2")
        #expect(second.members["users"]?.array?.first?.object?["displayName"] == nil)

        // An address that only the other project has.
        #expect(
            try client.admin("accounts", #"{"email":"eve@example.com","password":"secret1"}"#, project: "p1").status
                == 200)
        #expect(try client.admin("accounts:query", "{}", project: "p2").status == 200)
        #expect(try project(client.signIn("eve@example.com")) == "p1")
        #expect(
            try client.post("sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"eve@example.com"}"#).status == 200
        )
        let codes = try client.ask("GET", "/emulator/v1/projects/p1/oobCodes").members["oobCodes"]?.array
        let code = try #require(codes?.first?.object)
        #expect(try client.admin("accounts:query", "{}", project: "p2").status == 200)
        let reset = try client.post(
            "resetPassword", #"{"oobCode":"\#(code["oobCode"]?.text ?? "")","newPassword":"secret3"}"#)
        #expect(reset["email"] == "eve@example.com", "\(reset.http.text)")
        // A new account belongs to the project that was named last, even if the address exists in another one.
        #expect(try project(client.signUp("eve@example.com")) == "p2")

        #expect(try client.ask("DELETE", "/emulator/v1/projects/p1/accounts").status == 200)
        #expect(try client.admin("accounts:query", "{}", project: "p1")["recordsCount"] == "0")
        #expect(try client.admin("accounts:query", "{}", project: "p2")["recordsCount"] == "2")
    }

    @Test("a custom token is of the project of its service account")
    func customTokens() throws {
        let client = try client()
        for project in ["p1", "p2"] {
            #expect(try client.admin("accounts:query", "{}", project: project).status == 200)
        }
        let claims = object(
            #"{"iss":"backend@p1.iam.gserviceaccount.com","aud":"\#(CustomToken.audience)","uid":"u"}"#)
        let token = String(decoding: JSONWebToken.unsigned(claims), as: UTF8.self)
        #expect(try project(client.post("signInWithCustomToken", #"{"token":"\#(token)"}"#)) == "p1")
        // Without one, it may make a user, wherever there is one of the same id.
        #expect(try project(client.post("signInWithCustomToken", #"{"token":"{\"uid\":\"u\"}"}"#)) == "p2")
    }

    @Test("a user of a custom token is found again in a project that nobody else has named")
    func customTokenOfAnyProject() throws {
        let client = try client()
        let claims = object(
            #"{"iss":"backend@mine.iam.gserviceaccount.com","aud":"\#(CustomToken.audience)","uid":"u"}"#)
        let token = String(decoding: JSONWebToken.unsigned(claims), as: UTF8.self)
        let signIn = try client.post("signInWithCustomToken", #"{"token":"\#(token)"}"#)
        #expect(try project(signIn) == "mine")
        let found = try client.post("lookup", #"{"idToken":"\#(try #require(signIn["idToken"]))"}"#)
        #expect(found.members["users"]?.array?.count == 1)
        // Others are not of this project for that.
        #expect(try project(client.signUp("bob@example.com")) == "hearth")
    }

    @Test("an app's database tells whose the app is")
    func apps() throws {
        func connect(_ client: IdentityClient, _ target: String) throws {
            _ = try client.server.connect("/.ws?v=5&\(target)").receiveMessage()
        }
        let client = try client()
        // Databases are heard of after the hello.
        try connect(client, "ns=alpha-default-rtdb&p=1:1:web:a")
        try blockUntil("the project alpha") { try project(signUp(client, app: "1:1:web:a")) == "alpha" }
        try connect(client, "ns=beta-default-rtdb&p=1:2:web:b")
        try blockUntil("the project beta") { try project(signUp(client, app: "1:2:web:b")) == "beta" }
        for (app, project) in [("1:1:web:a", "alpha"), ("1:2:web:b", "beta")] {
            let up = try signUp(client, ann.replacing(#""localId":"ann","#, with: ""), app: app)
            #expect(try self.project(up) == project)
        }
        // A database by the name of a known project tells it, too.
        try connect(client, "ns=alpha")
        try blockUntil("the project alpha") { try project(client.post("signUp", "{}")) == "alpha" }
        let list = try client.ask("GET", "/v1/projects/-/accounts:batchGet", nil, RESTClient.owner)
        #expect(list.members["users"]?.array?.isEmpty == false)
    }

    @Test("a project that the operator chose is that of all clients; others are there beside it")
    func chosen() throws {
        let client = try IdentityClient()
        #expect(try client.admin("accounts", ann, project: "my-app").status == 200)
        #expect(try client.signIn("ann@example.com").error == "EMAIL_NOT_FOUND")
        #expect(try project(client.signUp("ann@example.com")) == "hearth")
        #expect(try client.admin("accounts:query", "{}", project: "my-app")["recordsCount"] == "1")
        #expect(try client.admin("accounts:query", "{}", project: "-")["recordsCount"] == "1")
        #expect(try client.admin("accounts:query", "{}", project: "a/b").status == 404)
    }

    @Test("a session in the database ends with the account of the token's project, and with no other")
    func sessions() throws {
        let client = try client()
        for project in ["other", "my-app"] {
            #expect(try client.admin("accounts", ann, project: project).status == 200)
        }
        let token = try #require(try client.signIn("ann@example.com")["idToken"])
        let peer = try client.server.connect("/.ws?v=5&ns=my-app-default-rtdb")
        _ = try peer.receiveMessage()
        try peer.send(1, "auth", #"{"cred":"\#(token)"}"#)
        #expect(try peer.receiveMessage()?.contains(#""uid":"ann""#) == true)
        #expect(try client.admin("accounts:delete", #"{"localId":"ann"}"#, project: "other").status == 200)
        try peer.send(2, "s", "{}")
        #expect(try peer.receiveMessage() == RealtimePeer.response(2))
        #expect(try client.admin("accounts:delete", #"{"localId":"ann"}"#, project: "my-app").status == 200)
        #expect(try peer.receiveMessage()?.contains(#""a":"ac""#) == true)
    }

    @Test("production has one project")
    func production() throws {
        let client = try IdentityClient(isDevelopment: false, learnsProjects: true, folder: folder.path)
        let key = try AdministratorKey(folder: folder.path)
        let token = try #require(try client.accessToken(try key.assertion())["access_token"])
        let bearer = ["Authorization: Bearer \(token)"]
        func list(_ project: String) throws -> IdentityClient.Answer {
            try client.ask("GET", "/v1/projects/\(project)/accounts:batchGet", nil, bearer)
        }
        #expect(try list("my-app").error == "INVALID_PROJECT_ID")
        #expect(try project(client.signUp("ann@example.com")) == "hearth")
        #expect(try list("-").members["users"]?.array?.count == 1)
        #expect(!TemporaryFolder.files(in: folder.path).contains("client-projects.json"))
    }
}
