import HearthIdentity
import HearthJSONValues
import HearthServer
import HearthSystem
import HearthTestSupport
import Testing
import HearthAccountEndpoints
import HearthClusterNode

@Suite(
    "What the nodes of a cluster share", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .serialized,
    .timeLimit(.minutes(15)))
struct SharingTests {
    private static let rules = #"{"rules":{".read":"auth != null",".write":"auth != null"}}"#

    private static let secret = "a secret of at least 32 characters"

    /// Three nodes as in production.
    private final class Fixture {
        let folder = TemporaryFolder()
        let cluster: TestCluster
        private let secrets: Secrets

        /// What the nodes that start from now on have in their files.
        private final class Secrets {
            var secret = ClusterSecret(SharingTests.secret)
        }

        var secret: ClusterSecret {
            get { secrets.secret }
            set { secrets.secret = newValue }
        }

        init() throws {
            let secrets = Secrets()
            self.secrets = secrets
            let rules = "\(folder.path)/rules.json"
            TemporaryFolder.write(Array(SharingTests.rules.utf8), to: rules)
            cluster = try TestCluster(forwardsWrites: true, others: ["n4"]) { configuration in
                configuration.cluster?.peers?.secret = secrets.secret
                configuration.isDevelopment = false
                configuration.rulesFile = rules
                var identity = IdentityConfiguration()
                identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
                configuration.identity = identity
            }
        }

        /// On a busy machine a lease may end. After ten seconds without an owner a request is refused, and not done:
        /// then it is tried again.
        func ask(
            _ method: String, _ path: String, _ body: String = "", _ fields: [String] = [], at node: String
        ) throws -> (status: Int, members: JSONObject) {
            var answer = try cluster[node].connectREST().ask(method, path, fields, body: Array(body.utf8))
            try blockUntil("an owner") {
                if answer.status != 503 { return true }
                answer = try cluster[node].connectREST().ask(method, path, fields, body: Array(body.utf8))
                return false
            }
            return (answer.status, (try? JSONValue(parsing: answer.body))?.object ?? JSONObject())
        }

        func account(_ operation: String, _ body: String, at node: String) throws -> JSONObject {
            let path = "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=app"
            let answer = try ask("POST", path, body, at: node)
            #expect(answer.status == 200, "\(answer)")
            return answer.members
        }

        /// The names of the keys that sign tokens, as a node publishes them.
        func signingKeys(at node: String) throws -> Set<String> {
            let path = "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
            let documents = try ask("GET", path, at: node).members
            return Set(documents.members.map { String(decoding: $0.name, as: UTF8.self) })
        }

        /// Waits until all nodes believe an administrator's key. Returns a header with a token of it.
        func authorization(_ key: AdministratorKey) throws -> String {
            var token: String?
            for name in TestCluster.names {
                try cluster.wait("the key at \(name)") {
                    token = try accessToken(key, at: name)
                    return token != nil
                }
            }
            return "authorization: Bearer \(try #require(token))"
        }

        /// An access token of an administrator's key, or nil if a node does not believe it.
        func accessToken(_ key: AdministratorKey, at node: String) throws -> String? {
            let type = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
            let answer = try ask(
                "POST", "/token", "\(type)&assertion=\(try key.assertion())",
                ["Content-Type: application/x-www-form-urlencoded"], at: node)
            return answer.members["access_token"]?.text
        }
    }

    @Test("accounts, sessions and keys are the same at all nodes; a session ends everywhere within a second")
    func accounts() throws {
        let fixture = try Fixture()
        let body = #"{"email":"ada@example.com","password":"secret1","returnSecureToken":true}"#
        let first = try fixture.account("signUp", body, at: "n1")
        let second = try fixture.account("signInWithPassword", body, at: "n2")
        #expect(first["localId"] == second["localId"])
        let refreshed = try fixture.ask(
            "POST", "/securetoken.googleapis.com/v1/token?key=app",
            "grant_type=refresh_token&refresh_token=\(try #require(second["refreshToken"]?.text))",
            ["Content-Type: application/x-www-form-urlencoded"], at: "n3")
        #expect(refreshed.status == 200)
        let documents = try TestCluster.names.map { name in
            try fixture.ask("GET", "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com", at: name).members
        }
        #expect(!documents[0].isEmpty)
        #expect(documents[0] == documents[1])
        #expect(documents[1] == documents[2])

        let token = try #require(refreshed.members["id_token"]?.text)
        var time = try endOfSession(token, fixture)
        // The machine may have other things to do, but not each time.
        try blockUntil("an end within a second") {
            if time < .seconds(1) { return true }
            let again = try fixture.account("signUp", body, at: "n1")
            time = try endOfSession(try #require(again["idToken"]?.text), fixture)
            return false
        }
    }

    /// How long a session at one node goes on after its user was deleted at another.
    private func endOfSession(_ token: String, _ fixture: Fixture) throws -> Duration {
        let peer = try fixture.cluster["n1"].connect("/.ws?v=5&ns=default")
        _ = try peer.receive()
        try peer.send(1, "auth", #"{"cred":"\#(token)"}"#)
        #expect(try peer.receiveMessage()?.contains(#""s":"ok""#) == true)
        let start = MonotonicTime.current
        _ = try fixture.account("delete", #"{"idToken":"\#(token)"}"#, at: "n3")
        let told = try #require(try peer.receiveMessage())
        #expect(told.contains(#""a":"ac""#), "\(told)")
        return MonotonicTime.current - start
    }

    @Test(
        "rules are in force at all nodes when any of them has answered; so are an administrator's keys after a moment")
    func rules() throws {
        let fixture = try Fixture()
        let cluster = fixture.cluster
        _ = try cluster.recordedOwner()
        let key = try AdministratorKey(folder: cluster.dataFolder(of: "n1"))
        var token: String?
        try cluster.wait("the key at another node") {
            token = try fixture.accessToken(key, at: "n3")
            return token != nil
        }
        let header = "authorization: Bearer \(try #require(token))"
        for (number, name) in TestCluster.names.enumerated() {
            #expect(try fixture.ask("GET", "/open\(number).json", at: "n1").status == 401)
            let rules = #"{"rules":{"open\#(number)":{".read":true}}}"#
            let answer = try fixture.ask("PUT", "/.settings/rules.json", rules, [header], at: name)
            #expect(answer.status == 200, "\(answer)")
            for other in TestCluster.names {
                #expect(try fixture.ask("GET", "/open\(number).json", at: other).status == 200, "\(name) \(other)")
            }
        }
        #expect(try fixture.ask("PUT", "/.settings/rules.json", #"{"rules":7}"#, [header], at: "n2").status == 400)
        // Rules and settings together.
        let both = "/.settings/rules-and-settings.json"
        func pair(_ name: String) -> String {
            let rules = #"{\"rules\":{\"open2\":{\".read\":true},\"\#(name)\":{\".write\":true}}}"#
            return #"{"rules":"\#(rules)","settings":"{\"settings\":{\"\#(name)\":{\".maxChildren\":1}}}"}"#
        }
        for name in TestCluster.names {
            let answer = try fixture.ask("PUT", both, pair(name), [header], at: name)
            #expect(answer.status == 200, "\(answer)")
            for other in TestCluster.names {
                let found = try fixture.cluster[other].connectREST().ask("GET", both, [header])
                #expect(found.text == pair(name), "\(name) \(other)")
                #expect(
                    try fixture.ask("PUT", "/\(name).json", #"{"a":1,"b":1}"#, at: other).status == 409,
                    "\(name) \(other)")
            }
        }
        let wrong = try fixture.ask(
            "PUT", both, #"{"rules":"{\"rules\":{}}","settings":"{\"settings\":7}"}"#, [header], at: "n1")
        #expect(wrong.status == 400)
        #expect(wrong.members["error"]?.text?.hasPrefix("settings:1:") == true, "\(wrong)")
        // With rules, a database is there at all nodes.
        let open = #"{"rules":{".read":true,".write":true}}"#
        #expect(try fixture.ask("GET", "/.json?ns=new", at: "n3").status == 404)
        #expect(try fixture.ask("PUT", "/.settings/rules.json?ns=new", open, [header], at: "n2").status == 200)
        for name in TestCluster.names {
            #expect(try fixture.ask("PUT", "/\(name).json?ns=new", "1", at: name).status == 200)
            let found = try fixture.ask("GET", "/.json?ns=new", at: name).members
            #expect(found[name]?.integer == 1, "\(name): \(found)")
        }
        // Taken away at one node, no node believes it.
        let accounts = try ServiceAccounts(folder: cluster.dataFolder(of: "n2"))
        let id = try #require(accounts.keys.first).id
        #expect(try accounts.removeKey(id))
        try cluster.wait("the end of the key") {
            try TestCluster.names.allSatisfy { try fixture.accessToken(key, at: $0) == nil }
        }
        // A node that comes back has what the others have.
        try cluster.stop("n1")
        try cluster.start("n1")
        #expect(try fixture.ask("GET", "/open2.json", at: "n1").status == 200)
        #expect(try fixture.ask("PUT", "/n3.json", #"{"a":1,"b":1}"#, at: "n1").status == 409)
        #expect(try fixture.ask("GET", "/.json?ns=new", at: "n1").members["n3"]?.integer == 1)
    }

    @Test("a key that was removed while its node did not run is gone at all nodes, and one that was made is there")
    func changesWhileStopped() throws {
        let fixture = try Fixture()
        let cluster = fixture.cluster
        _ = try cluster.recordedOwner()
        let key = try AdministratorKey(folder: cluster.dataFolder(of: "n1"))
        _ = try fixture.authorization(key)
        try cluster.stop("n1")
        let accounts = try ServiceAccounts(folder: cluster.dataFolder(of: "n1"))
        #expect(try accounts.removeKey(try #require(accounts.keys.first).id))
        let made = try AdministratorKey(folder: cluster.dataFolder(of: "n1"))
        // Changed elsewhere meanwhile.
        let other = try AdministratorKey(folder: cluster.dataFolder(of: "n2"))
        try cluster.wait("the key at another node") { try fixture.accessToken(other, at: "n3") != nil }
        try cluster.start("n1")
        _ = try fixture.authorization(made)
        _ = try fixture.authorization(other)
        for name in TestCluster.names { #expect(try fixture.accessToken(key, at: name) == nil, "\(name)") }
    }

    @Test("a node that comes back keeps the providers that were set up elsewhere, whatever it had not passed on")
    func providersMeanwhile() throws {
        let fixture = try Fixture()
        let cluster = fixture.cluster
        _ = try cluster.recordedOwner()
        let header = try fixture.authorization(try AdministratorKey(folder: cluster.dataFolder(of: "n1")))
        let path = "/identitytoolkit.googleapis.com/v2/projects/hearth/oauthIdpConfigs"
        func create(_ id: String, at node: String) throws {
            let body = #"{"clientId":"c1","issuer":"https://id.example"}"#
            let answer = try fixture.ask("POST", "\(path)?oauthIdpConfigId=\(id)", body, [header], at: node)
            #expect(answer.status == 200, "\(answer)")
        }
        func has(_ id: String, at node: String) throws -> Bool {
            try fixture.ask("GET", "\(path)/\(id)", "", [header], at: node).status == 200
        }
        try create("oidc.first", at: "n1")
        try cluster.wait("the provider at another node") { try has("oidc.first", at: "n2") }
        try cluster.stop("n1")
        // As if it had been killed right after a change.
        let file = "\(cluster.dataFolder(of: "n1"))/openid-providers.json"
        let text = String(decoding: TemporaryFolder.contents(of: file), as: UTF8.self)
        #expect(text.contains("c1"))
        TemporaryFolder.write(Array(text.replacing("c1", with: "c2").utf8), to: file)
        try create("oidc.second", at: "n2")
        try cluster.wait("the second provider") { try has("oidc.second", at: "n3") }
        try cluster.start("n1")
        // What is said later comes after that.
        _ = try fixture.authorization(try AdministratorKey(folder: cluster.dataFolder(of: "n1")))
        for name in TestCluster.names { #expect(try has("oidc.second", at: name), "\(name)") }
    }

    @Test("a node that comes back after a key was removed elsewhere does not bring it back")
    func removedElsewhere() throws {
        let fixture = try Fixture()
        let cluster = fixture.cluster
        _ = try cluster.recordedOwner()
        let key = try AdministratorKey(folder: cluster.dataFolder(of: "n1"))
        _ = try fixture.authorization(key)
        try cluster.stop("n1")
        let accounts = try ServiceAccounts(folder: cluster.dataFolder(of: "n2"))
        #expect(try accounts.removeKey(try #require(accounts.keys.first).id))
        try cluster.wait("the end of the key") { try fixture.accessToken(key, at: "n3") == nil }
        try cluster.start("n1")
        // What is said later comes after that.
        let later = try AdministratorKey(folder: cluster.dataFolder(of: "n1"))
        _ = try fixture.authorization(later)
        for name in TestCluster.names { #expect(try fixture.accessToken(key, at: name) == nil, "\(name)") }
    }

    @Test("the secret is replaced node by node, while rules are put in force and signing keys are shared")
    func secretsReplaced() throws {
        let fixture = try Fixture()
        let cluster = fixture.cluster
        _ = try cluster.recordedOwner()
        let header = try fixture.authorization(try AdministratorKey(folder: cluster.dataFolder(of: "n1")))
        func pushRules(at node: String) throws {
            let answer = try fixture.ask("PUT", "/.settings/rules.json", Self.rules, [header], at: node)
            #expect(answer.status == 200, "\(answer)")
        }
        func restart(with secret: ClusterSecret) throws {
            fixture.secret = secret
            for name in TestCluster.names {
                try cluster.stop(name)
                try cluster.start(name)
                for other in TestCluster.names { try pushRules(at: other) }
            }
        }
        let new = "another secret, as long as the first"
        try restart(with: ClusterSecret(Self.secret, accepting: new))
        try restart(with: ClusterSecret(new, accepting: Self.secret))
        // All that is sealed is sealed again: a node that never had the earlier one can open it.
        let before = try fixture.signingKeys(at: "n1")
        fixture.secret = ClusterSecret(new)
        try cluster.start("n4")
        try cluster.wait("the keys at a new node") { try fixture.signingKeys(at: "n4") == before }
        try cluster.stop("n4")
        try restart(with: ClusterSecret(new))
        // The next signing key, made at one node.
        let store = try KeyStore(folder: cluster.dataFolder(of: "n1"), now: WallClock.milliseconds / 1000)
        _ = try store.rotate(now: WallClock.milliseconds / 1000 + KeyStore.rotationSeconds)
        for name in ["n2", "n3"] {
            try cluster.wait("the next key at \(name)") {
                try fixture.signingKeys(at: name).isStrictSuperset(of: before)
            }
        }
    }

    @Test("signing keys that were sealed with another secret do not keep rules from being put in force")
    func otherSecret() throws {
        let fixture = try Fixture()
        let cluster = fixture.cluster
        _ = try cluster.recordedOwner()
        let header = try fixture.authorization(try AdministratorKey(folder: cluster.dataFolder(of: "n1")))
        fixture.secret = ClusterSecret("another secret, which replaces the first at once")
        for name in TestCluster.names { try cluster.stop(name) }
        for name in TestCluster.names { try cluster.start(name) }
        let answer = try fixture.ask("PUT", "/.settings/rules.json", Self.rules, [header], at: "n2")
        #expect(answer.status == 200, "\(answer)")
    }
}
