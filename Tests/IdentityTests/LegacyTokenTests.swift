import HearthJSONValues
import Glibc
import HearthIdentity
import HearthJSONWebTokens
import HearthTestSupport
import Testing

@Suite("Tokens and secrets of the first SDKs (Protocol.md 19.3)") struct LegacyTokenTests {
    private let folder = KeyFolder()
    private let now = KeyFolder.start
    private let secret = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    private let other = String(repeating: "x", count: 40)

    private func verifier(isDevelopment: Bool = false, secrets: [String]? = nil) throws -> TokenVerifier {
        let mode: TokenAuthority.Mode =
            isDevelopment ? .development : .production(try KeyStore(folder: folder.path, now: now))
        return TokenVerifier(
            authority: TokenAuthority(project: "demo-x", mode: mode),
            accounts: try ServiceAccounts(folder: folder.path),
            legacySecrets: try secrets.map { try LegacySecrets(file: file($0.joined(separator: "\n"))) })
    }

    private func file(_ text: String, mode: mode_t = 0o600) -> String {
        let path = folder.path + "/secrets"
        TemporaryFolder.write(bytes(text), to: path)
        chmod(path, mode)
        return path
    }

    private func verify(_ token: [UInt8], with verifier: TokenVerifier, now: Int64? = nil) throws -> Caller {
        let answers = Answers<Result<Caller, TokenError>>()
        verifier.verify(token, now: now ?? self.now) { answers.put($0) }
        return try #require(answers.all.count == 1 ? answers.all.first : nil).get()
    }

    /// What rules see as `auth`; nil for an administrator.
    private func auth(_ caller: Caller) -> String? {
        if case .legacy(let auth, _) = caller { text(auth) } else { nil }
    }

    private func token(_ claims: String, secret: String? = nil) -> [UInt8] {
        JSONWebToken.signed(object(claims), secret: bytes(secret ?? self.secret))
    }

    @Test("what a backend signed is auth as it stands, for a day unless it says otherwise")
    func user() throws {
        let verifier = try verifier(secrets: [other, secret])
        let data = #"{"uid":"ann","role":{"name":"editor"}}"#
        let day = try verify(token(#"{"v":0,"iat":\#(now),"d":\#(data)}"#), with: verifier)
        #expect(auth(day) == data)
        #expect(day.expiresAt == now + 86_400)
        let hour = token(#"{"v":0,"iat":\#(now - 10),"exp":\#(now + 5),"nbf":\#(now),"d":\#(data),"debug":true}"#)
        #expect(try verify(hour, with: verifier).expiresAt == now + 5)
        #expect(throws: TokenError.expired) { try verify(hour, with: verifier, now: now + 5) }
        #expect(try auth(verify(token(#"{"v":0,"iat":\#(now),"d":{"n":1}}"#), with: verifier)) == #"{"n":1}"#)
        for secret in [secret, other] {
            let made = token(#"{"iat":\#(now),"d":{"uid":"a"},"admin":false}"#, secret: secret)
            #expect(try auth(verify(made, with: verifier)) == #"{"uid":"a"}"#)
        }
    }

    @Test("a secret and a token that says so are administrators")
    func administrator() throws {
        let verifier = try verifier(secrets: [secret])
        for (credential, end) in [
            (bytes(secret), nil), (token(#"{"v":0,"iat":\#(now),"d":{},"admin":true}"#), now + 86_400),
        ] as [([UInt8], Int64?)] {
            guard case .administrator(end, nil) = try verify(credential, with: verifier) else {
                Issue.record("no administrator")
                continue
            }
            // For data, not for accounts.
            #expect(verifier.administrator(credential, now: now) == nil)
        }
    }

    @Test(
        "what is not right is refused, with the reason",
        arguments: [
            (#"{"v":1,"iat":N,"d":{}}"#, .invalidClaim("v")), (#"{"v":0,"d":{}}"#, .invalidClaim("iat")),
            (#"{"v":0,"iat":N}"#, .invalidClaim("d")), (#"{"v":0,"iat":N,"d":[]}"#, .invalidClaim("d")),
            (#"{"v":0,"iat":N,"d":{"uid":7}}"#, .invalidClaim("d")),
            (#"{"v":0,"iat":N,"d":{"uid":""}}"#, .invalidClaim("d")),
            (#"{"v":0,"iat":N,"d":{},"admin":"yes"}"#, .invalidClaim("admin")),
            (#"{"v":0,"iat":N,"d":{},"nbf":2000000000}"#, .notYetValid),
            (#"{"v":0,"iat":2000000000,"d":{}}"#, .notYetValid),
            (#"{"v":0,"iat":1699900000,"d":{}}"#, .expired), (#"{"v":0,"iat":N,"exp":N,"d":{}}"#, .expired),
        ] as [(String, TokenError)])
    func refusals(claims: String, error: TokenError) throws {
        let claims = claims.replacing("N", with: "\(now)")
        #expect(throws: error) { try verify(token(claims), with: verifier(secrets: [secret])) }
    }

    @Test("a secret makes no other tokens, and no other key makes these")
    func keys() throws {
        let verifier = try verifier(secrets: [secret])
        let claims = #"{"v":0,"iat":\#(now),"d":{"uid":"ann"}}"#
        #expect(throws: TokenError.wrongSignature) { try verify(token(claims, secret: other), with: verifier) }
        #expect(throws: TokenError.unsigned) { try verify(JSONWebToken.unsigned(object(claims)), with: verifier) }
        // The public key of the server, which everybody has, is no secret.
        let store = try KeyStore(folder: folder.path, now: now)
        let authority = TokenAuthority(project: "demo-x", mode: .production(store))
        let certificate = try #require(object(text(store.certificates)).members.first?.value.text)
        #expect(throws: TokenError.wrongSignature) { try verify(token(claims, secret: certificate), with: verifier) }
        // Nor does a secret sign what its own tokens and access tokens say.
        let contents = IDTokenContents(uid: bytes("ann"), signInProvider: "password", authTime: now)
        let own = try authority.idToken(contents, issuedAt: now * 1000)
        guard case .user = try verify(own, with: verifier) else { throw TokenError.malformed }
        let copied = JSONWebToken.signed(try JSONWebToken(parsing: own).claims, secret: bytes(secret))
        #expect(throws: TokenError.invalidClaim("d")) { try verify(copied, with: verifier) }
    }

    @Test("without the option, production refuses them; development takes any at its word")
    func modes() throws {
        let made = token(#"{"v":0,"iat":1,"d":{"uid":"ann"}}"#)
        #expect(throws: TokenError.unsupportedAlgorithm) { try verify(made, with: verifier()) }
        #expect(throws: TokenError.malformed) { try verify(bytes(secret), with: verifier()) }
        let development = try verifier(isDevelopment: true)
        let caller = try verify(made, with: development)
        #expect(auth(caller) == #"{"uid":"ann"}"#)
        #expect(caller.expiresAt == nil)
        let unsigned = JSONWebToken.unsigned(object(#"{"v":0,"d":{"uid":"bob"},"admin":true}"#))
        guard case .administrator(nil, nil) = try verify(unsigned, with: development) else {
            throw TokenError.malformed
        }
        #expect(throws: TokenError.malformed) { try verify(bytes(secret), with: development) }
        // An ID token may have a claim of the name.
        let user = JSONWebToken.unsigned(object(#"{"sub":"u1","d":{"uid":"u2"}}"#))
        guard case .user(let user) = try verify(user, with: development) else { throw TokenError.malformed }
        #expect(user.uid == bytes("u1"))
    }

    @Test("a file of secrets is refused that others may read, or that holds what is no secret")
    func files() throws {
        for (text, mode, problem) in [
            (secret, 0o644, "chmod 600"), ("", 0o600, "must hold 1 to 16"), ("\n\n", 0o600, "must hold 1 to 16"),
            ("\(secret)\nshort", 0o600, ":2: a secret has at least 32"),
            (String(repeating: "a b", count: 20), 0o600, ":1: a secret"),
            (Array(repeating: secret, count: 17).joined(separator: "\n"), 0o600, "must hold 1 to 16"),
        ] as [(String, mode_t, String)] {
            let error = #expect(throws: LegacySecrets.Failure.self) { try LegacySecrets(file: file(text, mode: mode)) }
            #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
        }
        #expect(throws: LegacySecrets.Failure(description: "/none is not there")) { try LegacySecrets(file: "/none") }
        #expect(throws: Never.self) { try LegacySecrets(file: file("\r\n\(secret)\r\n\n")) }
    }
}
