import HearthDatabaseScheduler
import HearthJSONTree
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("A node that takes its answers too slowly")
struct FullLinkTests {
    private static let link = 3
    private static let slow = ConnectionID(forwarded: .http, link: link, serial: 1)
    private static let other = ConnectionID(forwarded: .realtime, link: 4, serial: 2)

    /// The node owns the log, and its link to the other one is full.
    private static func bench() -> SharedLogBench {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        bench.fullLinks.insert(link)
        return bench
    }

    @Test("keeps only its own requests waiting, which stay in order")
    func waiting() throws {
        var bench = Self.bench()
        bench.set("a", "1", by: Self.slow)
        bench.set("a", "2", by: Self.slow)
        #expect(bench.appended.isEmpty)
        bench.set("own", "3")
        bench.handle(.committed(through: 1))
        #expect(bench.replies == ["\(Reply.done)"])
        bench.set("other", "4", by: Self.other)
        bench.handle(.committed(through: 2))
        #expect(bench.replies == ["\(Reply.done)"])
        bench.fullLinks.remove(Self.link)
        bench.handle(.delivered)
        bench.handle(.committed(through: 4))
        #expect(bench.replies == ["\(Reply.done)", "\(Reply.done)"])
        #expect(try bench.value("") == #"{"a":2,"other":4,"own":3}"#)
    }

    @Test("keeps large writes of others waiting no more than small ones")
    func large() throws {
        let text = CanonicalJSON(string: [UInt8](repeating: 0x78, count: 100_000))
        var bench = Self.bench()
        bench.set("a", text, by: Self.slow)
        #expect(bench.appended.isEmpty)
        bench.set("own", text)
        #expect(bench.appended.count == 1)
        bench.fullLinks.remove(Self.link)
        bench.handle(.delivered)
        #expect(bench.appended.count == 1)
        #expect(try bench.value("a") == text)
    }

    @Test("does not keep the writes waiting that its connections are owed when they end")
    func ends() throws {
        var bench = Self.bench()
        bench.fullLinks = LinkSet()
        bench.ask(.onDisconnect([(WriteTarget(path: "status"), IncomingValue(json: "0"))]), by: Self.slow)
        bench.handle(.committed(through: 1))
        bench.fullLinks.insert(Self.link)
        bench.ask(.disconnect, by: Self.slow)
        #expect(try bench.value("status") == "0")
    }

    @Test(
        "has none of its writes made after its link has ended, as its clients may have written anew", arguments: [1, 2])
    func lostLink(count: Int) throws {
        var bench = Self.bench()
        for _ in 0..<count { bench.set("a", "1", by: Self.slow) }
        bench.ask(.disconnect, by: Self.slow)
        bench.set("a", "2")
        #expect(bench.appended.count == 1)
        bench.fullLinks.remove(Self.link)
        bench.handle(.delivered)
        #expect(bench.appended.isEmpty)
        #expect(try bench.value("a") == "2")
        #expect(bench.waitingCount == 0)
    }

    @Test("has none of its writes made that come together with the end of its link")
    func lostLinkAtOnce() throws {
        var bench = Self.bench()
        let write = Operation.set("a", "1")
        bench.handle(
            .requests([
                Request(connection: Self.slow, number: 1, operation: write),
                Request(connection: Self.slow, number: 0, operation: .disconnect),
            ]))
        bench.fullLinks.remove(Self.link)
        bench.handle(.delivered)
        #expect(try bench.value("a") == "null")
        #expect(bench.waitingCount == 0)
    }

    @Test("is told at once that another node takes the writes")
    func lostLog() {
        var bench = Self.bench()
        bench.set("a", "1", by: Self.slow)
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"])
    }

    @Test("is told to ask the next owner when this one stops, which does not wait for it")
    func stopping() throws {
        var bench = Self.bench()
        bench.set("a", "1", by: Self.slow)
        bench.handle(.settle)
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: nil))))"])
        #expect(bench.isSettled == true)
        #expect(try bench.value("a") == "null")
    }

    @Test("has a number, which its connections have as well")
    func numbers() {
        for link in [0, 1, ConnectionID.linksMax - 1] {
            var links = LinkSet()
            links.insert(link)
            for kind in [ConnectionID.Kind.realtime, .http] {
                let connection = ConnectionID(forwarded: kind, link: link, serial: (1 << 48) - 1)
                #expect(connection.link == link && connection.kind == kind && connection.isForwarded)
                #expect(links.contains(connection))
                #expect(!links.contains(ConnectionID(forwarded: kind, link: link ^ 1, serial: 1)))
                #expect(!links.contains(ConnectionID(loop: 0, kind: kind, serial: 1)))
            }
        }
    }
}
