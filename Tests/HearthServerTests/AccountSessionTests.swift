import HearthBytes
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import HearthRealtimeSessions
import HearthSystem
import HearthServerCodecs
import HearthTestSupport
import Testing

@testable import HearthServer
@testable import HearthAccountEndpoints

@Suite("Sessions of users with accounts, in production") struct AccountSessionTests {
    private static let rules = """
        {"rules": {"$uid": {".read": "$uid === auth.uid", ".write": "$uid === auth.uid"}}}
        """

    private static func client(
        _ folder: TemporaryFolder? = nil, hasAdminListener: Bool = false
    ) throws -> IdentityClient {
        try IdentityClient(
            isDevelopment: false, hasAdminListener: hasAdminListener, folder: folder?.path, rules: rules)
    }

    private struct User {
        let id: String
        let token: String
    }

    private static func signUp(_ client: IdentityClient, _ email: String) throws -> User {
        let answer = try client.post("signUp", #"{"email":"\#(email)","password":"secret1"}"#)
        return User(id: try #require(answer["localId"]), token: try #require(answer["idToken"]))
    }

    @Test("a user reads and writes what is the user's, over every way in")
    func access() throws {
        let client = try Self.client()
        let (a, b) = (try Self.signUp(client, "a@example.com"), try Self.signUp(client, "b@example.com"))
        #expect(try client.rest.ask("PUT", "/\(a.id).json?auth=\(a.token)", [], "1").text == "1")
        #expect(try client.rest.ask("GET", "/\(a.id).json?auth=\(b.token)").status == 401)
        let peer = try client.server.connect("/.ws?v=5&ns=default")
        _ = try peer.receiveMessage()
        // What follows the sign-in waits for it, although accounts are asked about on another thread.
        try peer.send(1, "auth", #"{"cred":"\#(a.token)"}"#)
        try peer.send(2, "g", #"{"p":"\#(a.id)"}"#)
        #expect(try peer.receiveMessage()?.contains(#""uid":"\#(a.id)","provider":"password""#) == true)
        #expect(try peer.receiveMessage() == RealtimePeer.response(2, "ok", "1"))
    }

    @Test("sessions and event streams end at once when the account does, and do not begin again")
    func revocation() throws {
        let client = try Self.client()
        let (a, b) = (try Self.signUp(client, "a@example.com"), try Self.signUp(client, "b@example.com"))
        let peers = try [a, b].map { user in
            let peer = try client.server.connect("/.ws?v=5&ns=default")
            _ = try peer.receiveMessage()
            try peer.send(1, "auth", #"{"cred":"\#(user.token)"}"#)
            #expect(try peer.receiveMessage()?.contains(user.id) == true)
            return peer
        }
        let stream = try EventStreamClient("/\(a.id).json?auth=\(a.token)", of: client.server)
        #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#)
        #expect(try client.post("delete", #"{"idToken":"\#(a.token)"}"#).status == 200)
        #expect(try peers[0].receiveMessage()?.contains(#""a":"ac","b":{"s":"invalid_token""#) == true)
        #expect(try peers[0].receive() == .close(1008, reason: "the user's tokens were revoked"))
        #expect(try stream.nextLine() == "auth_revoked credential is no longer valid")
        #expect(try stream.nextLine() == nil)
        #expect(try client.rest.ask("GET", "/\(a.id).json?auth=\(a.token)").status == 401)
        try peers[1].send(2, "g", #"{"p":"\#(b.id)"}"#)
        #expect(try peers[1].receiveMessage() == RealtimePeer.response(2, "ok", "null"))
    }

    @Test("a worker over REST whose account has ended gets no job")
    func revokedWorker() throws {
        let folder = TemporaryFolder()
        let client = try IdentityClient(
            isDevelopment: false, folder: folder.path, rules: #"{"rules":{".read":true,".write":"auth != null"}}"#,
            settings: #"{"settings":{"mail":{".queue":{"attempts":2}}}}"#)
        let key = try AdministratorKey(folder: folder.path)
        let access = try #require(try client.accessToken(try key.assertion())["access_token"])
        func workersWait() throws -> Bool {
            let page = try client.rest.ask("GET", "/metrics", ["Authorization: Bearer \(access)"])
            try #require(page.status == 200)
            return page.text.contains(#"workers_waiting{database="default",queue="/mail"} 1"#)
        }
        let (a, b) = (try Self.signUp(client, "a@example.com"), try Self.signUp(client, "b@example.com"))
        #expect(try client.rest.ask("PUT", "/x.json?auth=\(b.token)", [], "1").status == 200)
        let worker = try client.server.connectREST()
        try worker.send(
            RESTClient.request(
                "POST", "/mail/.jobs.json?auth=\(a.token)", [], body: Array(#"{"do":"claim","wait":60000}"#.utf8)))
        try blockUntil("a worker that waits", workersWait)
        #expect(try client.post("delete", #"{"idToken":"\#(a.token)"}"#).status == 200)
        let answer = try worker.receive()
        #expect(answer.status == 401)
        #expect(answer.text.contains("credential is no longer valid"), "\(answer.text)")
        #expect(try !workersWait())
        #expect(try client.rest.ask("PUT", "/mail/jobs/a.json?auth=\(b.token)", [], "1").status == 200)
        let job = try client.rest.ask("POST", "/mail/.jobs.json?auth=\(b.token)", [], #"{"do":"claim"}"#).text
        #expect(job.contains(#""attempts":1"#), "\(job)")
    }

    @Test("a body that is still coming when its user's account ends is not written")
    func revocationWithinBody() throws {
        let client = try Self.client()
        let user = try Self.signUp(client, "a@example.com")
        let value = "\"\(String(repeating: "x", count: 8000))\""
        for isRevoked in [false, true] {
            let target = "/\(user.id).json?auth=\(user.token)"
            let upload = try client.server.connectREST()
            let fields = "Host: h\r\nExpect: 100-continue\r\nContent-Length: \(value.utf8.count)"
            try upload.send("PUT \(target) HTTP/1.1\r\n\(fields)\r\n\r\n")
            // Its head has been let in.
            #expect(try String(decoding: upload.receiveSome(), as: UTF8.self).hasPrefix("HTTP/1.1 100 "))
            try upload.send(String(value.prefix(4000)))
            if isRevoked { #expect(try client.post("delete", #"{"idToken":"\#(user.token)"}"#).status == 200) }
            try upload.send(String(value.dropFirst(4000)))
            #expect(try upload.receive().status == (isRevoked ? 401 : 200))
        }
    }

    @Test("a body that waits to be parsed when its user's account ends is not written, and begins no event stream")
    func revocationBeforeParsing() throws {
        let client = try Self.client()
        let user = try Self.signUp(client, "a@example.com")
        let target = "/\(user.id).json?auth=\(user.token)"
        let gate = Channel<Void>()
        client.server.server.services.parser.post { _ = try? gate.next() }
        let body = Array("\"\(String(repeating: "x", count: 70_000))\"".utf8)
        let (writer, listener) = (try client.server.connectREST(), try client.server.connectREST())
        try writer.send(RESTClient.request("PUT", target, body: body))
        try listener.send(
            RESTClient.request(
                "POST", target, ["Accept: text/event-stream", "X-HTTP-Method-Override: GET"], body: body))
        #expect(try client.post("delete", #"{"idToken":"\#(user.token)"}"#).status == 200)
        gate.put(())
        #expect(try writer.receive().status == 401)
        #expect(try listener.receive().status == 401)
    }

    @Test("an event stream whose first value is on its way ends with the account, and tells no later change")
    func revocationWithinValue() throws {
        let folder = TemporaryFolder()
        let client = try Self.client(folder)
        let key = try AdministratorKey(folder: folder.path)
        let access = try #require(try client.accessToken(try key.assertion())["access_token"])
        let user = try Self.signUp(client, "a@example.com")
        let place = "/\(user.id)"
        // More than the kernel takes for a client that does not read.
        let part = Array("\"\(String(repeating: "x", count: 4_000_000))\"".utf8)
        for index in 0..<4 {
            let answer = try client.rest.ask(
                "PUT", "\(place)/\(index).json?auth=\(user.token)&print=silent", body: part)
            #expect(answer.status == 204)
        }
        let stream = try EventStreamClient("\(place).json?auth=\(user.token)", of: client.server, receiveBuffer: 4096)
        #expect(try client.post("delete", #"{"idToken":"\#(user.token)"}"#).status == 200)
        let later = try client.rest.ask("PUT", "\(place)/later.json", ["Authorization: Bearer \(access)"], "1")
        #expect(later.status == 200)
        // It may be reset.
        while let event = try? stream.next() { #expect(!event.data.starts(with: Array(#"{"path":"/later""#.utf8))) }
        #expect(stream.bytes.count < 16_000_000)
    }

    private static func connect(_ client: IdentityClient, _ token: String, as id: String) throws -> RealtimePeer {
        let peer = try client.server.connect("/.ws?v=5&ns=default")
        _ = try peer.receiveMessage()
        try peer.send(1, "auth", #"{"cred":"\#(token)"}"#)
        #expect(try peer.receiveMessage()?.contains(id) == true)
        return peer
    }

    /// An SDK whose session ends before it has the new tokens signs the user out.
    @Test("a user who links a way to sign in, or changes one, stays connected until the client has its new tokens")
    func renewal() throws {
        let client = try IdentityClient(isDevelopment: false, rules: Self.rules, renewalTime: Patience.limit)
        let anonymous = try client.post("signUp", "{}")
        let id = try #require(anonymous["localId"])
        let gone = try Self.signUp(client, "gone@example.com")
        let peer = try Self.connect(client, try #require(anonymous["idToken"]), as: id)
        let other = try Self.connect(client, gone.token, as: gone.id)
        let link = #"{"idToken":"\#(try #require(anonymous["idToken"]))","email":"a@example.com","password":"secret1"}"#
        let linked = try client.post("update", link)
        // Of two losses, the second is known.
        #expect(try client.post("delete", #"{"idToken":"\#(gone.token)"}"#).status == 200)
        #expect(try other.receiveMessage()?.contains(#""a":"ac""#) == true)
        try peer.send(2, "p", #"{"p":"\#(id)","d":1}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(2))
        let token = try #require(linked["idToken"])
        try peer.send(3, "auth", #"{"cred":"\#(token)"}"#)
        #expect(try peer.receiveMessage()?.contains(#""provider":"password""#) == true)
        // The old token is of no use meanwhile.
        let old = try #require(anonymous["idToken"])
        #expect(try client.rest.ask("GET", "/\(id).json?auth=\(old)").status == 401)
        #expect(try client.post("delete", #"{"idToken":"\#(token)"}"#).status == 200)
        #expect(try peer.receiveMessage()?.contains(#""a":"ac""#) == true)
    }

    @Test("sessions that do not come with new tokens end a while after the user has changed the password")
    func sessionsWithoutRenewal() throws {
        let client = try IdentityClient(isDevelopment: false, rules: Self.rules, renewalTime: .milliseconds(50))
        let user = try Self.signUp(client, "a@example.com")
        let peer = try Self.connect(client, user.token, as: user.id)
        let stream = try EventStreamClient("/\(user.id).json?auth=\(user.token)", of: client.server)
        #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#)
        #expect(try client.post("update", #"{"idToken":"\#(user.token)","password":"secret2"}"#).status == 200)
        #expect(try peer.receiveMessage()?.contains(#""a":"ac","b":{"s":"invalid_token""#) == true)
        #expect(try stream.nextLine() == "auth_revoked credential is no longer valid")
    }

    @Test("a session that ends while its last message is parsed leaves nothing, if the account ends meanwhile")
    func revocationOfEnded() throws {
        let client = try IdentityClient(
            isDevelopment: false, rules: #"{"rules":{".read":true,".write":"auth != null"}}"#)
        let (server, user) = (client.server.server, try Self.signUp(client, "a@example.com"))
        let peer = try client.server.connect("/.ws?v=5&ns=default")
        _ = try peer.receiveMessage()
        try peer.send(1, "auth", #"{"cred":"\#(user.token)"}"#)
        try peer.send(2, "o", #"{"p":"/owed","d":true}"#)
        _ = try (peer.receiveMessage(), peer.receiveMessage())
        let gate = Channel<Void>()
        server.services.parser.post { _ = try? gate.next() }
        let text = String(repeating: "x", count: 100_000)
        try peer.send(3, "p", #"{"p":"/large","d":"\#(text)"}"#)
        try blockUntil("the message") { server.services.requestMemory.bytesUsed > text.utf8.count }
        peer.reset()
        try blockUntil("the end of the session") { client.server.sessionCount == 0 }
        #expect(try client.post("delete", #"{"idToken":"\#(user.token)"}"#).status == 200)
        // The next request about accounts is answered after all loops were told of the loss.
        _ = try Self.signUp(client, "b@example.com")
        gate.put(())
        try blockUntil("the end of the message") { server.services.requestMemory.bytesUsed == 0 }
        #expect(try client.rest.ask("GET", "/.json").text == "null")
    }

    @Test(
        "on-disconnect writes of a user who has lost the account are not made, whoever is signed in by then",
        arguments: ["disabled", "deleted", "revoked"])
    func owedWrites(loss: String) throws {
        let client = try IdentityClient(
            isDevelopment: false, rules: #"{"rules":{".read":true,".write":"auth != null"}}"#)
        let identity = try #require(client.server.server.services.identity)
        let realm = Realm(project: "hearth")
        let (a, b) = (try Self.signUp(client, "a@example.com"), try Self.signUp(client, "b@example.com"))
        func connect(_ user: User, _ place: String) throws -> RealtimePeer {
            let peer = try client.server.connect("/.ws?v=5&ns=default")
            _ = try peer.receiveMessage()
            try peer.send(1, "auth", #"{"cred":"\#(user.token)"}"#)
            try peer.send(2, "o", #"{"p":"/\#(place)","d":true}"#)
            #expect(try peer.receiveMessage()?.contains(#""s":"ok""#) == true)
            #expect(try peer.receiveMessage() == RealtimePeer.response(2))
            return peer
        }
        let (lost, other, changed) = (try connect(a, "lost"), try connect(b, "other"), try connect(a, "changed"))
        try changed.send(3, "unauth", "{}")
        _ = try changed.receiveMessage()
        switch loss {
        case "deleted": try identity.accounts.delete(user: a.id, in: realm)
        default:
            var change = UserChange()
            if loss == "disabled" {
                change.isDisabled = true
            } else {
                change.validSince = WallClock.milliseconds / 1000
            }
            _ = try identity.accounts.update(.user(a.id), change, in: realm)
        }
        #expect(try lost.receiveMessage()?.contains(#""a":"ac""#) == true)
        #expect(try lost.receive() == .close(1008, reason: "the user's tokens were revoked"))
        // This one continues without a user, and asks after the dropped writes.
        try changed.send(4, "g", #"{"p":"/"}"#)
        #expect(try changed.receiveMessage() == RealtimePeer.response(4, "ok", "null"))
        let watcher = try client.server.connect("/.ws?v=5&ns=default")
        _ = try watcher.receiveMessage()
        try watcher.send(1, "q", #"{"p":"/other","h":""}"#)
        _ = try watcher.receiveMessage()
        changed.hangUp()
        other.hangUp()
        #expect(try watcher.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"other","d":true}}}"#)
        try watcher.send(2, "g", #"{"p":"/"}"#)
        #expect(try watcher.receiveMessage() == RealtimePeer.response(2, "ok", #"{"other":true}"#))
    }

    @Test(
        "what a user has left is not done either when the server ends before its log says that the account is lost",
        arguments: ["disabled", "deleted", "revoked"])
    func owedWritesAfterACrash(loss: String) throws {
        let (folder, crashed) = (TemporaryFolder(), TemporaryFolder())
        let rules = #"{"rules":{".read":true,".write":"auth != null"}}"#
        do {
            let client = try IdentityClient(isDevelopment: false, folder: folder.path, rules: rules)
            let identity = try #require(client.server.server.services.identity)
            let realm = Realm(project: "hearth")
            let (a, b) = (try Self.signUp(client, "a@example.com"), try Self.signUp(client, "b@example.com"))
            for (user, place) in [(a, "lost"), (b, "other")] {
                let peer = try client.server.connect("/.ws?v=5&ns=default")
                _ = try peer.receiveMessage()
                try peer.send(1, "auth", #"{"cred":"\#(user.token)"}"#)
                try peer.send(2, "o", #"{"p":"/\#(place)","d":true}"#)
                _ = try peer.receiveMessage()
                #expect(try peer.receiveMessage() == RealtimePeer.response(2))
            }
            // The log as it is on the disk when the account is lost, and the accounts as they are after that.
            for file in ["default.log", "default.log-wal"] {
                TemporaryFolder.write(
                    TemporaryFolder.contents(of: "\(folder.path)/\(file)"), to: "\(crashed.path)/\(file)")
            }
            var change = UserChange()
            switch loss {
            case "deleted": try identity.accounts.delete(user: a.id, in: realm)
            case "disabled":
                change.isDisabled = true
                _ = try identity.accounts.update(.user(a.id), change, in: realm)
            default:
                change.validSince = WallClock.milliseconds / 1000 + 1
                _ = try identity.accounts.update(.user(a.id), change, in: realm)
            }
        }
        for file in TemporaryFolder.files(in: folder.path) where !file.hasPrefix("default.") && file != "lock" {
            TemporaryFolder.write(
                TemporaryFolder.contents(of: "\(folder.path)/\(file)"), to: "\(crashed.path)/\(file)")
        }
        let client = try IdentityClient(isDevelopment: false, folder: crashed.path, rules: rules)
        #expect(try client.rest.ask("GET", "/.json").text == #"{"other":true}"#)
    }

    @Test("what an administrator's key has opened ends with it")
    func removedKey() throws {
        let folder = TemporaryFolder()
        let client = try Self.client(folder)
        let keys = try ["a", "b"].map { _ in try AdministratorKey(folder: folder.path) }
        let tokens = try keys.map { try #require(try client.accessToken($0.assertion())["access_token"]) }
        let peers = try (tokens + tokens).enumerated().map { index, token in
            let peer = try client.server.connect("/.ws?v=5&ns=default")
            _ = try peer.receiveMessage()
            let acting = index < 2 ? "" : #","authvar":{"uid":"ann"}"#
            try peer.send(1, "gauth", #"{"cred":"\#(token)"\#(acting)}"#)
            #expect(try peer.receiveMessage()?.contains(#""s":"ok""#) == true)
            return peer
        }
        let stream = try EventStreamClient("/x.json?access_token=\(tokens[0])", of: client.server)
        #expect(try stream.nextLine() == #"put {"path":"/","data":null}"#)
        let id = try #require(keys[0].account["private_key_id"]?.text)
        #expect(try ServiceAccounts(folder: folder.path).removeKey(id))
        for peer in [peers[0], peers[2]] { #expect(try peer.receiveMessage()?.contains(#""a":"ac""#) == true) }
        #expect(try stream.nextLine() == "auth_revoked credential is no longer valid")
        try peers[0].send(2, "g", #"{"p":"/"}"#)
        #expect(try peers[0].receiveMessage()?.contains("permission_denied") == true)
        try peers[1].send(2, "g", #"{"p":"/"}"#)
        #expect(try peers[1].receiveMessage() == RealtimePeer.response(2, "ok", "null"))
    }

    @Test("a revocation ends sessions whose tokens were issued in the very second, and none that begin after it")
    func revocationInTheSecond() throws {
        let folder = TemporaryFolder()
        let client = try Self.client(folder)
        let access = try client.accessToken(try AdministratorKey(folder: folder.path).assertion())["access_token"]
        let bearer = ["Authorization: Bearer \(try #require(access))"]
        let user = try Self.signUp(client, "a@example.com")
        let peer = try client.server.connect("/.ws?v=5&ns=default")
        _ = try peer.receiveMessage()
        try peer.send(1, "auth", #"{"cred":"\#(user.token)"}"#)
        #expect(try peer.receiveMessage()?.contains(user.id) == true)
        let revocation = #"{"localId":"\#(user.id)","validSince":"\#(WallClock.milliseconds / 1000)"}"#
        let target = "/identitytoolkit.googleapis.com/v1/projects/hearth/accounts:update"
        #expect(try client.ask("POST", target, revocation, bearer).status == 200)
        #expect(try peer.receiveMessage()?.contains(#""a":"ac""#) == true)
        #expect(try peer.receive() == .close(1008, reason: "the user's tokens were revoked"))
        #expect(try client.rest.ask("GET", "/\(user.id).json?auth=\(user.token)").status == 401)
        let again = try #require(try client.signIn("a@example.com")["idToken"])
        #expect(try client.rest.ask("GET", "/\(user.id).json?auth=\(again)").status == 200)
    }

    /// The claims of a token, or its header.
    private static func part(_ index: Int, of token: String) throws -> JSONObject {
        let text = token.split(separator: ".", omittingEmptySubsequences: false)[index]
        let bytes = try #require(Base64.url.decode(text.utf8))
        return try #require(try JSONValue(parsing: bytes).object)
    }

    /// A token with other claims, the old signature and perhaps another header.
    private static func forge(_ token: String, header: String? = nil, claims: (inout JSONObject) -> Void) throws
        -> String
    {
        var parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var object = try part(1, of: token)
        claims(&object)
        parts[1] = String(decoding: Base64.url.encode(object.bytes), as: UTF8.self)
        if let header { parts[0] = String(decoding: Base64.url.encode(Array(header.utf8)), as: UTF8.self) }
        return parts.joined(separator: ".")
    }

    /// A token that says that it is signed with a shared secret, for which its maker takes the server's public key.
    private static func confused(_ claims: JSONObject, _ keyID: String, secret: [UInt8]) throws -> String {
        let header = Base64.url.encode(Array(#"{"alg":"HS256","kid":"\#(keyID)","typ":"JWT"}"#.utf8))
        let signed = header + [UInt8(ascii: ".")] + Base64.url.encode(claims.bytes)
        let signature = Base64.url.encode(Cryptography.hmacSHA256(signed, key: secret))
        return String(decoding: signed + [UInt8(ascii: ".")] + signature, as: UTF8.self)
    }

    @Test("no token but one's own opens anything: none, another's, unsigned, forged, expired")
    func attackers() throws {
        let folder = TemporaryFolder()
        let client = try Self.client(folder)
        let (victim, attacker) = (try Self.signUp(client, "a@example.com"), try Self.signUp(client, "b@example.com"))
        let asVictim: (inout JSONObject) -> Void = { claims in
            claims["sub"] = .text(victim.id)
            claims["user_id"] = .text(victim.id)
        }
        let keyID = try #require(try Self.part(0, of: victim.token)["kid"]?.text)
        let key = try SigningKey.make()
        let now = WallClock.milliseconds / 1000
        let claims = try Self.part(1, of: victim.token)
        // What only the server itself could have made, an hour ago.
        let own = try KeyStore(folder: folder.path, now: now).signingKey(now: now)
        var past = claims
        past["iat"] = .integer(now - 3601)
        past["exp"] = .integer(now - 1)
        let expired = String(decoding: try JSONWebToken.signed(past, with: own), as: UTF8.self)
        let unsigned = try Self.forge(attacker.token, header: #"{"alg":"none","kid":"\#(keyID)"}"#, claims: asVictim)
        let tokens: [String] = [
            attacker.token, try Self.forge(attacker.token, claims: asVictim), unsigned,
            unsigned.split(separator: ".").dropLast().joined(separator: ".") + ".",
            try Self.forge(attacker.token, header: #"{"alg":"HS256","kid":"\#(keyID)"}"#, claims: asVictim),
            String(decoding: try JSONWebToken.signed(claims, with: key), as: UTF8.self), expired,
            try Self.confused(claims, keyID, secret: own.verificationKey.publicPEM()), "owner", "ya29.x", "x.y.z",
            "%00",
        ]
        #expect(try client.rest.ask("PUT", "/\(victim.id).json?auth=\(victim.token)", [], "1").status == 200)
        for token in tokens {
            for target in ["/\(victim.id).json?auth=\(token)", "/\(victim.id).json?access_token=\(token)"] {
                #expect(try client.rest.ask("GET", target).status == 401, "\(token)")
                #expect(try client.rest.ask("PUT", target, [], "2").status == 401, "\(token)")
            }
            let bearer = ["Authorization: Bearer \(token)"]
            for target in [
                "/\(victim.id).json", "/.settings/rules.json", "/.settings/denials.json", "/.inspect/databases.json",
                "/identitytoolkit.googleapis.com/v1/projects/hearth/accounts:batchGet",
            ] {
                let status = try client.rest.ask("GET", target, bearer).status
                #expect(status == 401 || status == 403, "\(target) \(token)")
            }
            let peer = try client.server.connect("/.ws?v=5&ns=default")
            _ = try peer.receiveMessage()
            try peer.send(1, "gauth", #"{"cred":"\#(token)","authvar":{"uid":"\#(victim.id)"}}"#)
            try peer.send(2, "g", #"{"p":"\#(victim.id)"}"#)
            _ = try peer.receiveMessage()
            #expect(try peer.receiveMessage()?.contains("permission_denied") == true, "\(token)")
            peer.hangUp()
            if token == attacker.token { continue }
            for operation in ["lookup", "update", "delete"] {
                let body = #"{"idToken":"\#(token)","displayName":"x","localId":"\#(victim.id)"}"#
                #expect(try client.post(operation, body).status == 400, "\(operation) \(token)")
            }
        }
        // Naming another user along with one's own token changes one's own account.
        let named = #"{"idToken":"\#(attacker.token)","localId":"\#(victim.id)","displayName":"x"}"#
        #expect(try client.post("update", named)["localId"] == attacker.id)
        #expect(try client.rest.ask("GET", "/\(victim.id).json?auth=\(victim.token)").text == "1")
        let seen = try client.post("lookup", #"{"idToken":"\#(victim.token)"}"#).members["users"]?.array?.first?.object
        #expect(seen?["localId"]?.text == victim.id)
        #expect(seen?["displayName"] == nil)
    }

    @Test("the public listener has nothing for administrators, whatever they show, but the data")
    func publicListener() throws {
        let folder = TemporaryFolder()
        let client = try Self.client(folder, hasAdminListener: true)
        let victim = try Self.signUp(client, "a@example.com")
        let assertion = try AdministratorKey(folder: folder.path).assertion()
        let token = try #require(try client.accessToken(assertion)["access_token"])
        let bearer = ["Authorization: Bearer \(token)", "Content-Type: application/json"]
        #expect(try client.rest.ask("POST", "/token", [], "assertion=\(assertion)").status == 404)
        let accounts = "/identitytoolkit.googleapis.com/v1/projects/hearth"
        let user = #"{"localId":"\#(victim.id)","disableUser":true}"#
        let requests: [(method: String, target: String, body: String?)] = [
            ("GET", "/.settings/rules.json", nil), ("PUT", "/.settings/rules.json?dryRun=true", #"{"rules":{}}"#),
            ("GET", "/.settings/denials.json", nil), ("GET", "/.inspect/databases.json", nil),
            ("GET", accounts + "/accounts:batchGet", nil), ("POST", accounts + "/accounts:query", "{}"),
            ("POST", accounts + "/accounts:lookup", #"{"localId":["\#(victim.id)"]}"#),
            ("POST", accounts + "/accounts", #"{"localId":"made"}"#), ("GET", "/v2/projects/hearth/config", nil),
            ("POST", accounts + "/accounts:update", user), ("POST", "/v1/projects/hearth/accounts:update", user),
            ("POST", "/www.googleapis.com/identitytoolkit/v3/relyingparty/downloadAccount", "{}"),
        ]
        for request in requests {
            let body = request.body.map { Array($0.utf8) }
            #expect(try client.rest.ask(request.method, request.target, bearer, body: body).status == 404)
            // Where they belong, they are answered; as are all the others.
            #expect(try client.admin.ask(request.method, request.target, bearer, body: body).status == 200)
        }
        // What administrators share with users has no more for them than for a stranger.
        for operation in ["update", "delete", "lookup", "signUp", "sendOobCode"] {
            let target = "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=app"
            #expect(try client.rest.ask("POST", target, bearer, user).status == 401, "\(operation)")
        }
        #expect(try client.admin.ask("GET", "/\(victim.id).json", bearer).text == "null")
        // Admin SDKs read and write where apps do.
        #expect(try client.rest.ask("PUT", "/\(victim.id).json", bearer, "1").status == 200)
        let peer = try client.server.connect("/.ws?v=5&ns=default")
        _ = try peer.receiveMessage()
        try peer.send(1, "gauth", #"{"cred":"\#(token)"}"#)
        try peer.send(2, "g", #"{"p":"\#(victim.id)"}"#)
        _ = try peer.receiveMessage()
        #expect(try peer.receiveMessage() == RealtimePeer.response(2, "ok", "1"))
    }
}
