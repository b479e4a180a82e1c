import HearthEventLoop
import HearthFetching
import HearthJSONWebTokens
import Synchronization
import HearthTestSupport
import Testing
@testable import HearthAccess

struct HTTPSFetcherTests {
    private func fetch(
        _ url: String, from peer: AnsweringPeer? = nil, trusting authorities: TLSContext.Authorities = .system,
        _ limits: HTTPSFetcher.Limits = .init(), staysPublic: Bool = false
    ) async throws -> Result<FetchedDocument, FetchError> {
        let fetcher = Fetcher()
        defer { fetcher.stop() }
        let documents = HTTPSFetcher(fetcher, trusting: authorities, limits: limits, staysPublic: staysPublic)
        let result = await withCheckedContinuation { continuation in
            documents.fetch(DocumentRequest(url: url)) { continuation.resume(returning: $0) }
        }
        return withExtendedLifetime(peer) { result }
    }

    private func error(_ result: Result<FetchedDocument, FetchError>) -> FetchError? {
        if case .failure(let error) = result { error } else { nil }
    }

    private static let answer =
        "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=120, must-revalidate\r\nContent-Length: 2\r\n\r\n{}"

    @Test("a document comes over TLS from a server whose certificate is trusted, and from no other")
    func overTLS() async throws {
        let peer = try AnsweringPeer(Self.answer, usesTLS: true)
        let trusting = TLSContext.Authorities.file(peer.certificate.certificateFile)
        let url = "https://localhost:\(peer.port)/keys?a=b#part"
        let document = try await fetch(url, from: peer, trusting: trusting).get()
        #expect(document.status == 200)
        #expect(document.body == Array("{}".utf8))
        #expect(document.maxAge == 120)
        let request = try #require(peer.firstRequest)
        #expect(request.hasPrefix("GET /keys?a=b HTTP/1.1\r\nHost: localhost:\(peer.port)\r\n"))
        let unknown = error(try await fetch(url, from: peer))
        #expect(unknown?.description.contains("verify the certificate") == true)
        let stranger = try AnsweringPeer(Self.answer, usesTLS: true)
        let refused = error(
            try await fetch("https://localhost:\(stranger.port)/", from: stranger, trusting: trusting))
        #expect(refused?.description.contains("verify the certificate") == true)
        #expect(stranger.firstRequest == nil)
    }

    @Test("one that stays in the public internet connects to no other address")
    func staysPublic() async throws {
        let peer = try AnsweringPeer(Self.answer, usesTLS: true)
        let trusting = TLSContext.Authorities.file(peer.certificate.certificateFile)
        let hosts = ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"]
        for url in hosts.map({ "https://\($0):\(peer.port)/" }) + ["http://127.0.0.1:\(peer.port)/"] {
            #expect(error(try await fetch(url, from: peer, trusting: trusting, staysPublic: true)) != nil, "\(url)")
        }
        #expect(peer.firstRequest == nil)
        #expect(try await fetch("https://localhost:\(peer.port)/", from: peer, trusting: trusting).get().status == 200)
    }

    @Test("plain text is spoken with this machine alone")
    func plain() async throws {
        let peer = try AnsweringPeer(Self.answer, usesTLS: false)
        #expect(try await fetch("http://127.0.0.1:\(peer.port)", from: peer).get().body == Array("{}".utf8))
        for url in ["http://example.com/", "ftp://localhost/", "localhost", "https://", "https://a@b/", ""] {
            #expect(error(try await fetch(url)) == FetchError("not an https address"), "\(url)")
        }
    }

    @Test(
        "an answer that is too large, broken off or no answer at all is an error",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901", "HTTP/1.1 200 OK\r\n\r\n12345678901",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1", "HTTP/1.1 200 OK\r\nContent-", "hello\r\n\r\n",
        ])
    func broken(answer: String) async throws {
        let peer = try AnsweringPeer(answer, usesTLS: false)
        var limits = HTTPSFetcher.Limits()
        limits.bodyBytesMax = 10
        #expect(error(try await fetch("http://localhost:\(peer.port)/", from: peer, limits)) != nil)
    }

    @Test("a body up to the limit comes, whatever the status, and ends with the connection if nothing else ends it")
    func status() async throws {
        let peer = try AnsweringPeer(
            "HTTP/1.1 404 Not Found\r\nCache-Control: no-store\r\n\r\n1234567890", usesTLS: false)
        var limits = HTTPSFetcher.Limits()
        limits.bodyBytesMax = 10
        let document = try await fetch("http://localhost:\(peer.port)/", from: peer, limits).get()
        #expect(document.status == 404)
        #expect(document.body.count == 10)
        #expect(document.maxAge == 0)
    }

    @Test("a server that does not answer is given up, and so is one that is not there")
    func silence() async throws {
        let peer = try AnsweringPeer("", usesTLS: false)
        var limits = HTTPSFetcher.Limits()
        limits.timeout = .milliseconds(50)
        for url in ["http://localhost:\(peer.port)/", "http://localhost:1/"] {
            #expect(error(try await fetch(url, from: peer, limits)) != nil)
        }
    }

    @Test("a fetcher that has ended fetches nothing, and says so")
    func ended() async throws {
        let fetcher = Fetcher()
        fetcher.stop()
        let documents = HTTPSFetcher(fetcher)
        let result = await withCheckedContinuation { continuation in
            documents.fetch(DocumentRequest(url: "https://localhost/")) { continuation.resume(returning: $0) }
        }
        #expect(error(result) == FetchError("the server is stopping"))
    }

    @Test("more requests than are allowed at a time fail at once, and make room when they end")
    func tooMany() async throws {
        let silent = try AnsweringPeer("", usesTLS: false)
        let fetcher = Fetcher()
        defer { fetcher.stop() }
        var limits = HTTPSFetcher.Limits()
        limits.openMax = 1
        limits.timeout = .seconds(2)
        let documents = HTTPSFetcher(fetcher, limits: limits)
        let request = DocumentRequest(url: "http://localhost:\(silent.port)/")
        let second = Mutex<Result<FetchedDocument, FetchError>?>(nil)
        await withCheckedContinuation { continuation in
            documents.fetch(request) { _ in continuation.resume() }
            documents.fetch(request) { result in second.withLock { $0 = result } }
        }
        let refused = second.withLock { $0 }
        #expect(refused.flatMap(error) == FetchError("too many requests to other servers"))
        let peer = try AnsweringPeer(Self.answer, usesTLS: false)
        // A busy machine may need longer than the timeout.
        try await eventually("an answer") {
            let third = await withCheckedContinuation { continuation in
                documents.fetch(DocumentRequest(url: "http://localhost:\(peer.port)/")) {
                    continuation.resume(returning: $0)
                }
            }
            return (try? third.get().status) == 200
        }
        withExtendedLifetime((silent, peer)) {}
    }

    @Test(
        "addresses are taken apart",
        arguments: [
            ("https://a.example", "a.example", 443, "a.example", "/"),
            ("HTTPS://a.example:8443/x?y=/z", "a.example", 8443, "a.example:8443", "/x?y=/z"),
            ("https://a.example?q", "a.example", 443, "a.example", "/?q"),
            ("https://[::1]:1/", "::1", 1, "[::1]:1", "/"), ("http://[::1]", "::1", 80, "[::1]", "/"),
            ("http://localhost:65535", "localhost", 65535, "localhost:65535", "/"),
        ] as [(String, String, UInt16, String, String)])
    func addresses(url: String, host: String, port: UInt16, authority: String, target: String) throws {
        let address = try #require(FetchAddress(url))
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.authority == authority)
        #expect(address.target == target)
    }

    @Test(
        "other addresses are refused",
        arguments: [
            "https://a:b", "https://a:0", "https://a:65536", "https://a:+1", "https://:1", "https://a b/",
            "https://a/\n",
            "https://[::1", "https://[a]:1", "https://[::1]1", "https://ä.example", "http://127.0.0.1.evil.example",
            "http://0x7f000001/", "javascript:alert(1)",
        ])
    func noAddresses(url: String) { #expect(FetchAddress(url) == nil) }

    @Test(
        "max-age is found among other directives",
        arguments: [
            ("max-age=5", 5), ("public, Max-Age = 7", 7), ("max-age=\"9\"", 9), ("private", nil), ("max-age", nil),
            ("max-age=x", nil), ("max-age=-3", 0), ("max-age=60, no-store", 0), ("", nil),
            ("max-age=99999999999999999999", nil),
        ] as [(String, Int64?)])
    func maxAge(field: String, expected: Int64?) { #expect(CacheControl.maxAge(Array(field.utf8)) == expected) }
}
