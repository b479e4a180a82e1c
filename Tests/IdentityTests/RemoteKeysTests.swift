import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct RemoteKeysTests {
    private let fetcher = FakeFetcher()
    private let url = "https://issuer.example/keys"
    private let now: Int64 = 1_700_000_000

    private var keys: RemoteKeys { RemoteKeys(.document(url: url), fetcher: fetcher) }

    private func document(_ keys: [SigningKey], maxAge: Int64? = nil) -> FetchedDocument {
        FetchedDocument(status: 200, body: KeyDocuments.jwks(keys), maxAge: maxAge)
    }

    private func find(_ keys: RemoteKeys, _ id: String, now: Int64) -> Result<Int, TokenError>? {
        let answers = Answers<Result<Int, TokenError>>()
        keys.find(bytes(id), now: now) { answers.put($0.map(\.count)) }
        #expect(answers.all.count <= 1)
        return answers.all.first
    }

    @Test("keys are fetched once and kept for as long as their issuer says")
    func kept() {
        fetcher[url] = document([TestKeys.first], maxAge: 600)
        let keys = keys
        for offset in [0, 1, 599] as [Int64] {
            #expect(find(keys, TestKeys.first.id, now: now + offset) == .success(1))
        }
        #expect(fetcher.requests.count == 1)
        #expect(find(keys, TestKeys.first.id, now: now + 600) == .success(1))
        #expect(fetcher.requests.count == 2)
    }

    @Test("an unknown key name makes one request a minute")
    func unknown() {
        fetcher[url] = document([TestKeys.first], maxAge: 6000)
        let keys = keys
        for name in ["a", "b", "c"] { #expect(find(keys, name, now: now) == .failure(.unknownKey)) }
        #expect(find(keys, "a", now: now + 59) == .failure(.unknownKey))
        #expect(find(keys, TestKeys.first.id, now: now + 59) == .success(1))
        #expect(fetcher.requests.count == 1)
        // The issuer has changed its keys.
        fetcher[url] = document([TestKeys.second, TestKeys.first])
        #expect(find(keys, TestKeys.second.id, now: now + 60) == .success(1))
        #expect(fetcher.requests.count == 2)
        // The clock is set back.
        #expect(find(keys, "other", now: now - 10_000) == .failure(.unknownKey))
        #expect(fetcher.requests.count == 3)
    }

    @Test("an age that is too long or too short is bounded")
    func bounds() {
        for (age, kept) in [(0, 60), (-5, 60), (.max, 86_400), (nil, 3600)] as [(Int64?, Int64)] {
            let fetcher = FakeFetcher()
            fetcher[url] = document([TestKeys.first], maxAge: age)
            let keys = RemoteKeys(.document(url: url), fetcher: fetcher)
            for offset in [0, kept - 1] { #expect(find(keys, TestKeys.first.id, now: now + offset) == .success(1)) }
            #expect(fetcher.requests.count == 1)
            _ = find(keys, TestKeys.first.id, now: now + kept)
            #expect(fetcher.requests.count == 2)
        }
    }

    @Test("tokens that come while keys are fetched wait for the same answer")
    func shared() {
        fetcher[url] = document([TestKeys.first])
        fetcher.hold()
        let keys = keys
        let answers = Answers<Result<Int, TokenError>>()
        for id in [TestKeys.first.id, "other", TestKeys.first.id] {
            keys.find(bytes(id), now: now) { answers.put($0.map(\.count)) }
        }
        #expect(answers.all.isEmpty)
        #expect(fetcher.requests.count == 1)
        fetcher.release()
        #expect(answers.all == [.success(1), .failure(.unknownKey), .success(1)])
    }

    @Test("an issuer that is away is tried once a minute, and its known keys hold for a day")
    func away() {
        let keys = keys
        #expect(find(keys, TestKeys.first.id, now: now) == .failure(.keysUnavailable))
        fetcher[url] = document([TestKeys.first], maxAge: 60)
        #expect(find(keys, TestKeys.first.id, now: now + 30) == .failure(.keysUnavailable))
        #expect(find(keys, TestKeys.first.id, now: now + 60) == .success(1))
        let end = now + 60 + 60
        for broken in [nil, FetchedDocument(status: 500, body: []), FetchedDocument(status: 200, body: bytes("{}"))] {
            fetcher[url] = broken
            #expect(find(keys, TestKeys.first.id, now: end) == .success(1))
        }
        #expect(find(keys, "other", now: end + 1) == .failure(.keysUnavailable))
        #expect(find(keys, TestKeys.first.id, now: end + 86_399) == .success(1))
        #expect(find(keys, TestKeys.first.id, now: end + 86_400) == .failure(.keysUnavailable))
    }

    @Test("an issuer's configuration leads to its keys, if it is its own")
    func discovery() {
        let configuration = "https://issuer.example/tenant/.well-known/openid-configuration"
        fetcher[url] = document([TestKeys.first])
        fetcher[configuration] = FetchedDocument(
            status: 200, body: bytes(#"{"issuer":"https://issuer.example/tenant/","jwks_uri":"\#(url)"}"#))
        let keys = RemoteKeys(.discovery(issuer: "https://issuer.example/tenant/"), fetcher: fetcher)
        #expect(find(keys, TestKeys.first.id, now: now) == .success(1))
        #expect(fetcher.requests == [configuration, url])
        let other = RemoteKeys(.discovery(issuer: "https://issuer.example/tenant"), fetcher: fetcher)
        #expect(find(other, TestKeys.first.id, now: now) == .failure(.keysUnavailable))
    }

    @Test("an issuer's configuration cannot send the server to a plain address")
    func discoveryWithoutTLS() {
        for (issuer, isTaken) in [("https://issuer.example", false), ("http://localhost:8080", true)] {
            let keyAddress = "http://127.0.0.1:9000/keys"
            fetcher[keyAddress] = document([TestKeys.first])
            fetcher["\(issuer)/.well-known/openid-configuration"] = FetchedDocument(
                status: 200, body: bytes(#"{"issuer":"\#(issuer)","jwks_uri":"\#(keyAddress)"}"#))
            let keys = RemoteKeys(.discovery(issuer: issuer), fetcher: fetcher)
            #expect(
                find(keys, TestKeys.first.id, now: now) == (isTaken ? .success(1) : .failure(.keysUnavailable)),
                "\(issuer)")
            #expect(fetcher.requests.contains(keyAddress) == isTaken, "\(issuer)")
        }
    }

    @Test("key documents in all forms are read, and what is of no use in them is left out")
    func documents() throws {
        let first = try text(TestKeys.first.verificationKey.publicPEM())
        let jwks = text(KeyDocuments.jwks([TestKeys.first]))
        var certificates = JSONObject(["a": .text(first), "b": .text("no key"), "c": .integer(1)])
        certificates["d"] = .text(first)
        #expect(KeySet(certificates.bytes)?.verificationKeys(nil).count == 2)
        #expect(KeySet(certificates.bytes)?.verificationKeys(bytes("a")).count == 1)
        #expect(KeySet(bytes(first))?.verificationKeys(bytes("anything")).count == 1)
        #expect(KeySet(bytes(jwks))?.verificationKeys(bytes(TestKeys.first.id)).count == 1)
        #expect(KeySet(bytes(jwks))?.verificationKeys(bytes("x")).isEmpty == true)
        let mixed = jwks.replacing("[", with: #"[{"kty":"oct","k":"AA"},{"kty":"OKP"},7,"#)
        #expect(KeySet(bytes(mixed))?.verificationKeys(nil).count == 1)
        for useless in ["", "{", "{}", "[]", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"AA"}]}"#, "-----BEGIN"] {
            #expect(KeySet(bytes(useless)) == nil)
        }
    }
}
