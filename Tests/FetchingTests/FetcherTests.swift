import HearthEventLoop
import HearthFetching
import HearthTestSupport
import Synchronization
import Testing

@Suite("Requests to other servers") struct FetcherTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    private func request(_ url: String, _ method: FetchRequest.Method = .get) throws -> FetchRequest {
        let address = try #require(FetchAddress(url, allowsPlain: true))
        var request = FetchRequest(method, address, timeout: .seconds(600))
        request.bodyBytesMax = 1000
        return request
    }

    private func fetch(
        _ request: FetchRequest, with fetcher: Fetcher = Fetcher()
    ) async -> Result<FetchAnswer, FetchFailure> {
        await withCheckedContinuation { continuation in
            fetcher.fetch(request) { continuation.resume(returning: $0) }
        }
    }

    private func failure(_ result: Result<FetchAnswer, FetchFailure>) -> FetchFailure? {
        if case .failure(let failure) = result { failure } else { nil }
    }

    @Test("are sent as they are given, and nothing can add a line to the head")
    func sent() async throws {
        let peer = try AnsweringPeer(Self.answer)
        let body = Array(#"{"a":1}"#.utf8)
        var request = try request("http://127.0.0.1:\(peer.port)/a/../b?c#d", .post(body))
        request.headers = [("ce-ref", Array("a\r\nX: y".utf8)), ("content-type", Array("a/b".utf8)), ("ce-id", [])]
        #expect(try await fetch(request).get().body == Array("{}".utf8))
        let text = peer.requests.joined()
        #expect(text.hasPrefix("POST /a/../b?c HTTP/1.1\r\nHost: 127.0.0.1:\(peer.port)\r\n"))
        #expect(text.hasSuffix("\r\n\r\n{\"a\":1}"))
        let lines = Set(text.split(separator: "\r\n").dropFirst(2).dropLast())
        #expect(
            lines == [
                "Accept: */*", "ce-ref: a  X: y", "content-type: a/b", "ce-id:", "Connection: close",
                "Content-Length: 7",
            ])
    }

    @Test("give the fields of the answer in any letter case, without those of an interim head")
    func fields() async throws {
        let peer = try AnsweringPeer(
            "HTTP/1.1 103 Early Hints\r\nage: 1\r\n\r\nHTTP/1.1 404 No\r\nAge:  2 \r\nAGE:3\r\nContent-Length: 0\r\n\r\n"
        )
        let answer = try await fetch(try request("http://127.0.0.1:\(peer.port)/")).get()
        #expect(answer.status == 404)
        #expect(answer.values(of: "age") == [Array("2".utf8), Array("3".utf8)])
        #expect(answer.values(of: "ag").isEmpty)
    }

    @Test("follow no redirection")
    func redirection() async throws {
        let peer = try AnsweringPeer("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
        #expect(try await fetch(try request("http://127.0.0.1:\(peer.port)/")).get().status == 302)
        #expect(peer.requests.count == 1)
    }

    @Test("end with the head of the answer where the body is not wanted")
    func headAlone() async throws {
        let peer = try AnsweringPeer("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx", closes: false)
        var request = try request("http://127.0.0.1:\(peer.port)/")
        request.bodyBytesMax = nil
        let answer = try await fetch(request).get()
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
    }

    /// An answer that is too large, and the part that is.
    struct Excess: CustomTestStringConvertible {
        let testDescription: String
        let answer: String
        let part: FetchFailure.Part?

        init(_ name: String, _ rest: String, _ part: FetchFailure.Part?) {
            (testDescription, answer, self.part) = (name, "HTTP/1.1 200 OK\r\n" + rest, part)
        }
    }

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test(
        "end with a head or a body that is too large",
        arguments: [
            Excess("a long field", "a: \(text(33 << 10))\r\n\r\n", .head),
            Excess("many fields", String(repeating: "a: b\r\n", count: 6000) + "\r\n", .head),
            // libcurl itself gives up.
            Excess("a line without an end", text(1 << 20), nil),
            Excess("a body without a length", "\r\n\(text(1001))", .body),
            Excess("a body with a length", "Content-Length: 1001\r\n\r\n\(text(1001))", .body),
        ])
    func tooLarge(excess: Excess) async throws {
        let peer = try AnsweringPeer(excess.answer, closes: false)
        let failure = try #require(failure(await fetch(try request("http://127.0.0.1:\(peer.port)/"))))
        if let part = excess.part { #expect(failure == .tooLarge(part)) }
    }

    @Test("go to those addresses only that are admitted, by whichever name")
    func addresses() async throws {
        let peer = try AnsweringPeer(Self.answer)
        let asked = Mutex<[SocketAddress]>([])
        for host in ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"] {
            var request = try request("http://\(host):\(peer.port)/")
            request.admits = { address in
                asked.withLock { $0.append(address) }
                return false
            }
            let found = failure(await fetch(request))
            guard case .forbidden(let addresses) = found else {
                Issue.record("\(host): \(String(describing: found))")
                continue
            }
            #expect(addresses == asked.withLock { $0 })
            #expect(addresses.contains { $0.unmapped == .loopback(port: peer.port) })
            asked.withLock { $0 = [] }
        }
        #expect(peer.requests.isEmpty)
        var request = try request("http://localhost:\(peer.port)/")
        request.admits = { !$0.isIPv6 }
        #expect(try await fetch(request).get().status == 200)
    }

    @Test("do not use the connection of an earlier one, which was judged by other rules")
    func connections() async throws {
        let peer = try AnsweringPeer(Self.answer, closes: false)
        let fetcher = Fetcher()
        var request = try request("http://127.0.0.1:\(peer.port)/")
        #expect(try await fetch(request, with: fetcher).get().status == 200)
        request.admits = { _ in false }
        #expect(failure(await fetch(request, with: fetcher)) == .forbidden([.loopback(port: peer.port)]))
        fetcher.stop()
    }

    @Test("want a certificate of the authorities that are named, with the name that was asked for")
    func certificates() async throws {
        let peer = try AnsweringPeer(Self.answer, usesTLS: true, names: "DNS:localhost")
        for (host, isNamed) in [("localhost", true), ("127.0.0.1", false)] {
            var request = try request("https://\(host):\(peer.port)/")
            request.authorities = .file(peer.certificate.certificateFile)
            let result = await fetch(request)
            if isNamed {
                #expect(try result.get().status == 200)
            } else if case .certificate = failure(result) {
                #expect(peer.requests.count == 1)
            } else {
                Issue.record("\(result)")
            }
            request.authorities = .system
            guard case .certificate = failure(await fetch(request)) else {
                Issue.record("the system should not know the certificate")
                continue
            }
        }
        var request = try request("https://localhost:\(peer.port)/")
        request.authorities = .file("/nowhere")
        #expect(failure(await fetch(request))?.description.contains("/nowhere") == true)
    }

    @Test("fail when nobody listens, and when the time is up")
    func absence() async throws {
        guard case .notConnected = failure(await fetch(try request("http://127.0.0.1:1/"))) else {
            Issue.record("nobody should listen")
            return
        }
        let peer = try AnsweringPeer("")
        var request = try request("http://127.0.0.1:\(peer.port)/")
        request.timeout = .milliseconds(50)
        #expect(failure(await fetch(request)) == .timedOut)
    }

    @Test("end when the fetcher does, also those whose name is still looked up, which holds up no others")
    func end() async throws {
        let (silent, peer) = (try AnsweringPeer(""), try AnsweringPeer(Self.answer))
        let fetcher = Fetcher()
        let ends = Mutex<[FetchFailure?]>([])
        for host in ["127.0.0.1:\(silent.port)", HangingLookups.name] {
            fetcher.fetch(try request("http://\(host)/")) { result in
                let failure = self.failure(result)
                ends.withLock { $0.append(failure) }
            }
        }
        try await eventually("both under way") { silent.requests.count == 1 && HangingLookups.count == 1 }
        #expect(try await fetch(try request("http://127.0.0.1:\(peer.port)/"), with: fetcher).get().status == 200)
        #expect(ends.withLock { $0.isEmpty })
        fetcher.stop()
        #expect(ends.withLock { $0 } == [.stopped, .stopped])
        #expect(HangingLookups.count == 1)
        HangingLookups.end()
        try await eventually("the end of the look-up") { HangingLookups.count == 0 }
        #expect(failure(await fetch(try request("http://127.0.0.1:\(peer.port)/"), with: fetcher)) == .stopped)
    }
}
