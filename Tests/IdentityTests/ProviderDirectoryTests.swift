import Glibc
import HearthIdentity
import HearthJSONWebTokens
import HearthTestSupport
import Testing

@Suite("OpenID providers that administrators set up") struct ProviderDirectoryTests {
    private let folder = TemporaryFolder()
    private let fetcher = FakeFetcher()
    private let realm = Realm(project: "p")
    private let now: Int64 = 1_700_000_000

    init() {
        for issuer in ["https://id.example", "https://new.example"] {
            fetcher[issuer + "/.well-known/openid-configuration"] = FetchedDocument(
                status: 200, body: bytes(#"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys"}"#))
            fetcher[issuer + "/keys"] = FetchedDocument(status: 200, body: KeyDocuments.jwks([TestKeys.first]))
        }
    }

    private func directory(_ trust: String = #"{"providers":[]}"#) throws -> ProviderDirectory {
        let file = try TrustFile(bytes(trust), fetcher: fetcher) { _ in nil }
        return try ProviderDirectory(folder: folder.path, fixed: file.providers, fetcher: fetcher)
    }

    private func configuration(
        _ id: String = "oidc.a", issuer: String = "https://id.example", isEnabled: Bool = true
    ) -> OpenIDConfiguration {
        var configuration = OpenIDConfiguration(id: id, clientID: "client", issuer: issuer)
        configuration.isEnabled = isEnabled
        return configuration
    }

    /// Who signs in with a token of an issuer; nil if there is no such provider, or it is switched off.
    private func signIn(
        _ directory: ProviderDirectory, issuer: String = "https://id.example", in realm: Realm? = nil
    ) throws -> String? {
        guard case .enabled(let providers) = directory.standing(of: "oidc.a", in: realm ?? self.realm) else {
            return nil
        }
        let claims = object(#"{"iss":"\#(issuer)","aud":"client","sub":"7","iat":\#(now),"exp":\#(now + 60)}"#)
        let credential = IdentityProviders.Credential(idToken: try JSONWebToken.signed(claims, with: TestKeys.first))
        let answers = Answers<Result<ProviderIdentity, ProviderError>>()
        providers.verify(credential, of: "oidc.a", now: now) { answers.put($0) }
        return try #require(answers.all.first).get().rawID
    }

    @Test("the answers that a provider is asked for are the same after a restart")
    func responseTypes() throws {
        for (index, (wantsIDToken, wantsCode)) in [(true, false), (false, true), (true, true)].enumerated() {
            var provider = configuration("oidc.p\(index)")
            provider.wantsIDToken = wantsIDToken
            provider.wantsCode = wantsCode
            try directory().create(provider, in: realm)
            #expect(try directory().configuration(provider.id, in: realm) == provider)
        }
    }

    @Test("a provider is in force at once, in its realm alone, and there again after a restart")
    func life() throws {
        let directory = try directory()
        #expect(try signIn(directory) == nil)
        try directory.create(configuration(), in: realm)
        #expect(try signIn(directory) == "7")
        #expect(try signIn(directory, in: Realm(project: "p", tenant: "t")) == nil)
        #expect(throws: ProviderDirectory.Failure.exists) { try directory.create(configuration(), in: realm) }

        let fetches = fetcher.requests.count
        var changed = configuration()
        changed.displayName = "Example"
        changed.clientSecret = "hush"
        changed.wantsCode = true
        try directory.update(changed, in: realm)
        // The keys stay, as the issuer does.
        #expect(try signIn(directory) == "7")
        #expect(fetcher.requests.count == fetches)
        var information = stat()
        #expect(stat(folder.path + "/openid-providers.json", &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)

        let again = try self.directory()
        #expect(again.configurations(in: realm) == [changed])
        #expect(try again.configuration("oidc.a", in: realm) == changed)
        #expect(try signIn(again) == "7")
        try again.update(configuration(issuer: "https://new.example"), in: realm)
        #expect(throws: ProviderError.token(.wrongIssuer)) { try signIn(again) }
        #expect(try signIn(again, issuer: "https://new.example") == "7")
        try again.update(configuration(isEnabled: false), in: realm)
        guard case .disabled = again.standing(of: "oidc.a", in: realm) else {
            Issue.record("not switched off")
            return
        }
        try again.delete("oidc.a", in: realm)
        #expect(try signIn(again) == nil)
        #expect(again.configurations(in: realm).isEmpty)
        for change in [{ try again.delete("oidc.a", in: realm) }, { try again.update(configuration(), in: realm) }] {
            #expect(throws: ProviderDirectory.Failure.unknown) { try change() }
        }
        #expect(try self.directory().configurations(in: realm).isEmpty)
    }

    @Test("what the operator wrote down wins, and is not changed")
    func trustFile() throws {
        try directory().create(configuration(), in: realm)
        let trust = #"{"providers":[{"id":"oidc.a","issuer":"https://new.example","clientIDs":["client"]}]}"#
        let directory = try directory(trust)
        #expect(try signIn(directory, issuer: "https://new.example") == "7")
        let listed = directory.configurations(in: realm)
        #expect(listed.count == 1)
        #expect(listed.first?.isFixed == true)
        #expect(listed.first?.isEnabled == true)
        #expect(listed[0].issuer == "https://new.example")
        for change in [
            { try directory.create(configuration(), in: realm) }, { try directory.update(configuration(), in: realm) },
            { try directory.delete("oidc.a", in: realm) },
        ] { #expect(throws: ProviderDirectory.Failure.fixed) { try change() } }
        // It is there again when the operator takes that back.
        #expect(try self.directory().configurations(in: realm) == [configuration()])
    }

    @Test("what cannot be kept is not in force; a broken file stops the start")
    func failures() throws {
        let directory = try directory()
        try directory.create(configuration(), in: realm)
        // A folder is in the way of the new file.
        try #require(mkdir(folder.path + "/openid-providers.json.new", 0o700) == 0)
        let path = folder.path + "/openid-providers.json"
        #expect(throws: ProviderDirectory.Failure.file("cannot make \(path).new: File exists")) {
            try directory.delete("oidc.a", in: realm)
        }
        #expect(try signIn(directory) == "7")
        rmdir(folder.path + "/openid-providers.json.new")
        try directory.delete("oidc.a", in: realm)
        for number in 0..<ProviderDirectory.configurationsMax {
            try directory.create(configuration("oidc.n\(number)"), in: realm)
        }
        #expect(throws: ProviderDirectory.Failure.tooMany) { try directory.create(configuration(), in: realm) }
        for text in ["x", #"{"p":{"oidc.a":{}}}"#, #"{"p":{"other":{"clientId":"c","issuer":"https://i"}}}"#] {
            TemporaryFolder.write(bytes(text), to: path)
            #expect(throws: KeyStoreError.damaged(path: path), "\(text)") { try self.directory() }
        }
    }
}
