import Glibc
import HearthEventLoop
import HearthJSONTree
import HearthRealtimeDatabase
import HearthReplicatedLog
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthClusterNode

@Suite("Links between nodes", .timeLimit(.minutes(15)))
struct PeerHubTests {
    /// A node that records its messages, and answers all requests in order.
    private final class Node: Sendable {
        struct Told: Sendable {
            var requests: [Int64] = []
            /// The numbers of the requests, negated for those that were turned away.
            var answers: [Int64] = []
            var ends: [ConnectionID] = []
            var lost: [String] = []
            var news: [ClusterNews] = []
            var feeds: [FeedNews] = []
            /// Bytes of answers, in all, and those that wait for each link.
            var queued = 0
            var waiting: [Int: Int] = [:]
            /// Connections that had ended when answers were last received, or given up.
            var endsBefore = 0
            var isWaiting: Bool { waiting.values.contains { $0 != 0 } }
        }

        let told: Shared
        let hub: PeerHub
        let name: String

        final class Shared: Sendable {
            let state = Mutex(Told())
            let hub = Mutex<PeerHub?>(nil)
        }

        /// - parameter isPatient: it gives no link up because the machine is busy.
        /// - parameter reply: its answer to all requests.
        init(
            _ name: String, secret: String = "0123456789abcdef0123456789abcdef", _ incarnation: UInt64 = 1,
            isPatient: Bool = false, reply: Reply = .done
        ) throws {
            let shared = Shared()
            told = shared
            self.name = name
            let delegate = PeerDelegate { _, requests in
                var answers: [(connection: ConnectionID, number: Int64, reply: Reply)] = []
                shared.state.withLock { state in
                    for request in requests {
                        if case .disconnect = request.operation {
                            state.ends.append(request.connection)
                        } else {
                            state.requests.append(request.number)
                            answers.append((request.connection, request.number, reply))
                        }
                    }
                }
                shared.hub.withLock { $0 }?.answer(answers, sequence: 1)
            } news: { _, news in
                shared.state.withLock { state in
                    for news in news {
                        switch news {
                        case .answered(_, let number, .done, _): state.answers.append(number)
                        case .answered(_, let number, _, _): state.answers.append(-number)
                        case .ended: break
                        case .lost(let node): state.lost.append(node)
                        }
                    }
                }
            } feeds: { _, _, news in
                shared.state.withLock { $0.feeds.append(news) }
            } report: { news in
                shared.state.withLock { $0.news.append(news) }
            } queued: { bytes, link in
                shared.state.withLock { state in
                    state.queued += bytes
                    state.waiting[link, default: 0] += bytes
                }
            } passedOn: { bytes, link in
                shared.state.withLock { state in
                    state.waiting[link, default: 0] -= bytes
                    state.endsBefore = state.ends.count
                }
            }
            var configuration = PeerConfiguration(address: .loopback(port: 0), secret: ClusterSecret(secret))
            if isPatient {
                configuration.times.linkPatience = Patience.limit
                configuration.times.silenceMax = Patience.limit
                configuration.times.openTimeout = Patience.limit
                configuration.times.handshakeTimeout = Patience.limit
            }
            hub = try PeerHub(configuration, name: name, incarnation: incarnation, delegate)
            shared.hub.withLock { $0 = hub }
        }

        deinit { stop() }

        func stop() {
            guard shared != nil else { return }
            hub.stop()
        }

        private var shared: PeerHub? {
            told.hub.withLock { hub in
                defer { hub = nil }
                return hub
            }
        }

        func knows(_ name: String, at address: SocketAddress) { knows([(name, address)]) }

        func knows(_ nodes: [(name: String, address: SocketAddress)]) {
            hub.set(
                Dictionary(
                    uniqueKeysWithValues: nodes.map { name, address in
                        (name, NodeRecord(incarnation: 1, address: "", peerAddress: "\(address)"))
                    }))
        }

        /// - parameter serial: of the connection that asks.
        func forward(_ number: Int64, to name: String, serial: UInt64 = 1) {
            let value = IncomingValue(json: CanonicalJSON(trusted: Array("1".utf8)))
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: serial)
            let request = Request(
                connection: connection, number: number, operation: .set(WriteTarget(path: .root), value))
            hub.forward([ForwardedRequest(number: number, request: request)], of: "d", to: name)
        }

        /// Answers requests, however they came.
        func answer(_ answers: [(connection: ConnectionID, number: Int64, reply: Reply)]) {
            hub.answer(answers, sequence: 1)
        }

        func wait(_ what: String, until holds: (Told) -> Bool) async throws {
            try await eventually(what) { holds(told.state.withLock { $0 }) }
        }
    }

    /// A reserved address without a listener.
    private static func nobody() throws -> SocketAddress {
        try #require(SocketAddress(numeric: "127.255.255.254", port: 9))
    }

    @Test("each request arrives once, in order, and is answered, although connections break", arguments: [1, 2, 3])
    func breaks(seed: UInt64) async throws {
        let (caller, called) = (try Node("a", isPatient: true), try Node("b", isPatient: true))
        let proxy = try FaultyProxy(to: called.hub.address, seed: seed)
        caller.knows("b", at: proxy.address)
        let count: Int64 = 2000
        for number in 1...count { caller.forward(number, to: "b", serial: UInt64(number % 5)) }
        try await caller.wait("half of the answers") { $0.answers.count >= count / 2 }
        proxy.faults.calm()
        try await caller.wait("all answers") { $0.answers.count >= count }
        #expect(called.told.state.withLock { $0.requests } == Array(1...count), "seed \(seed)")
        #expect(caller.told.state.withLock { $0.answers } == Array(1...count), "seed \(seed)")
        #expect(caller.told.state.withLock { $0.lost } == [])
    }

    @Test("requests to a node that does not run any more are turned away at once")
    func gone() async throws {
        let caller = try Node("a")
        caller.hub.set(isRegistered: true)
        caller.knows([("aa", try Self.nobody())])
        // A node that runs is tried for three seconds. Of links that end at the same time, this one's would come first.
        caller.forward(1, to: "b")
        caller.forward(2, to: "aa")
        try await caller.wait("a refusal") { !$0.answers.isEmpty }
        #expect(caller.told.state.withLock { $0.answers.first } == -1)
    }

    @Test("a log is passed on in order, although connections break, until the other node does not need it")
    func feeds() async throws {
        let (follower, source) = (try Node("a", isPatient: true), try Node("b", isPatient: true))
        let proxy = try FaultyProxy(to: source.hub.address, seed: 4)
        follower.knows("b", at: proxy.address)
        follower.forward(1, to: "b")
        try await follower.wait("an answer") { $0.answers == [1] }
        let request = FeedRequest(epoch: 7, sequence: 11)
        // Without a connection at that moment, the answer is no.
        while source.told.state.withLock({ $0.feeds.isEmpty }) {
            follower.hub.follow(request, of: "d", at: "b")
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(source.told.state.withLock { $0.feeds.first } == .asked(request))
        let batches = (0..<500).map { [UInt8($0 / 256), UInt8($0 % 256)] }
        for batch in batches { source.hub.pass(batch, floor: 3, owner: "b", of: "d", to: ["a", "c"]) }
        source.hub.pass([9], floor: 3, owner: "b", of: "another", to: ["a"])
        proxy.faults.calm()
        try await follower.wait("all of it") { $0.feeds.filter { $0 != .ended }.count == batches.count }
        let fed = follower.told.state.withLock { $0.feeds.filter { $0 != .ended } }
        #expect(fed == batches.map { FeedNews.fed($0, floor: 3, owner: "b") })
        follower.hub.unfollow("d", at: "b")
        try await source.wait("the end") { $0.feeds.last == .unfollowed }
        source.hub.pass([1], floor: 3, owner: "b", of: "d", to: ["a"])
        follower.forward(2, to: "b")
        try await follower.wait("another answer") { $0.answers == [1, 2] }
        #expect(follower.told.state.withLock { $0.feeds.filter { $0 != .ended } }.count == batches.count)
    }

    @Test("both nodes hear that a feed has ended with its link")
    func feedsEnd() async throws {
        let source = try Node("b")
        let follower = try Node("a")
        follower.knows("b", at: source.hub.address)
        follower.forward(1, to: "b")
        try await follower.wait("an answer") { $0.answers == [1] }
        follower.hub.follow(FeedRequest(epoch: 7, sequence: 1), of: "d", at: "b")
        try await source.wait("the request") { $0.feeds.count == 1 }
        source.stop()
        try await follower.wait("the end") { $0.feeds == [.ended] }
        // There is no link to such a node.
        follower.hub.follow(FeedRequest(epoch: 7, sequence: 1), of: "d", at: "z")
        try await follower.wait("a refusal") { $0.feeds == [.ended, .ended] }

        let (third, other) = (try Node("c"), try Node("d"))
        third.knows("d", at: other.hub.address)
        third.forward(1, to: "d")
        try await third.wait("an answer") { $0.answers == [1] }
        third.hub.follow(FeedRequest(epoch: 7, sequence: 1), of: "d", at: "d")
        try await other.wait("the request") { $0.feeds.count == 1 }
        third.stop()
        try await other.wait("the end") { $0.feeds.last == .unfollowed }
    }

    @Test("a node with another secret is not talked to, and both operators hear of it")
    func secrets() async throws {
        let (caller, called) = (try Node("a"), try Node("b", secret: "another secret, as long as the first"))
        caller.knows("b", at: called.hub.address)
        caller.forward(1, to: "b")
        // Unsent requests were not done.
        try await caller.wait("a refusal") { $0.answers == [-1] }
        let reason = "it has another --cluster-secret"
        #expect(caller.told.state.withLock { $0.news } == [.peerRefused(node: "b", reason: reason)])
        #expect(called.told.state.withLock { $0.requests } == [])
    }

    @Test("a caller without the secret is reported once, by its address, though it gives several names")
    func strangers() async throws {
        let called = try Node("b")
        for name in ["c", "d", "e"] { try Self.call(called.hub.address.port, as: name) }
        try await called.wait("a report") { !$0.news.isEmpty }
        #expect(called.told.state.withLock { $0.news } == [.callerRefused(address: "127.0.0.1")])
    }

    /// Proves nothing. Returns at the end of the connection.
    private static func call(_ port: UInt16, as name: String) throws {
        let descriptor = try LoopbackSocket.make()
        defer { close(descriptor) }
        try #require(LoopbackSocket.connect(descriptor, to: port) == 0)
        let session = [UInt8](repeating: 1, count: PeerHandshake.sessionSize)
        let hello = PeerHandshake.message(from: .init(name: name, incarnation: 1, session: session))
        let proof = [UInt8](repeating: 0, count: PeerHandshake.proofSize)
        let bytes = [0, 0, 0, UInt8(hello.count)] + hello + [0, 0, 0, UInt8(proof.count)] + proof
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        var answer = [UInt8](repeating: 0, count: 1024)
        while read(descriptor, &answer, answer.count) > 0 {}
    }

    /// A node of a later version, which does not speak this one any more.
    private final class LaterNode: Sendable {
        private let group: EventLoopGroup
        private let listener: Listener

        init(_ name: String, secret: String) throws {
            group = try EventLoopGroup(count: 1, name: "later")
            listener = try Listener(at: .loopback(port: 0), on: group) { _ in Handler(name, ClusterSecret(secret)) }
        }

        deinit {
            group.stop()
            group.join()
        }

        var address: SocketAddress { listener.address }

        private final class Handler: StreamHandler {
            private var own: PeerHandshake.Hello
            private let secret: ClusterSecret
            private var input: [UInt8] = []

            init(_ name: String, _ secret: ClusterSecret) {
                own = PeerHandshake.Hello(name: name, incarnation: 1)
                own.version = 9
                self.secret = secret
            }

            func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
                input += bytes
                // The size of the message comes first.
                guard input.count >= 4, input.count == 4 + Int(input[2]) << 8 + Int(input[3]),
                    let caller = try? PeerHandshake.caller(input.dropFirst(4))
                else { return }
                let answer = PeerHandshake.message(from: own, to: caller, secret)
                stream.send(shared: [0, 0, UInt8(answer.count >> 8), UInt8(answer.count & 0xFF)] + answer)
            }

            func closed(_ stream: Stream, reason: CloseReason) {}
        }
    }

    @Test("a node of a version that is not spoken here is not talked to, and the operator hears why; the others are")
    func versions() async throws {
        let (caller, called) = (try Node("a"), try Node("b"))
        let later = try LaterNode("c", secret: "0123456789abcdef0123456789abcdef")
        caller.knows([("b", called.hub.address), ("c", later.address)])
        caller.forward(1, to: "c", serial: 1)
        caller.forward(2, to: "b", serial: 2)
        // What was for the node was not done.
        try await caller.wait("both answers") { Set($0.answers) == [-1, 2] }
        let reason = "it speaks version 9 of the protocol between nodes"
        #expect(caller.told.state.withLock { $0.news } == [.peerRefused(node: "c", reason: reason)])
        caller.forward(3, to: "b", serial: 2)
        try await caller.wait("an answer") { $0.answers.last == 3 }
    }

    @Test("a node that has its name knows which others it does not reach, also if it has nothing to send")
    func reach() async throws {
        let (own, other) = (try Node("a"), try Node("b"))
        var proxy: FaultyProxy? = try FaultyProxy(to: other.hub.address, seed: 1)
        proxy?.faults.calm()
        own.knows([("a", own.hub.address), ("b", try #require(proxy).address)])
        own.hub.set(isRegistered: true)
        // Nothing is sent before the link is there.
        own.forward(1, to: "b")
        try await own.wait("the answer") { $0.answers == [1] }
        #expect(own.hub.unreached == [])
        proxy = nil
        try await own.wait("that it is not reached") { _ in own.hub.unreached == ["b"] }
        own.knows([("a", own.hub.address), ("b", other.hub.address)])
        try await own.wait("that it is reached") { _ in own.hub.unreached == [] }
    }

    @Test("the connections of a node that ends have ended, and what it has not taken was not done")
    func farewell() async throws {
        let called = try Node("b")
        do {
            let caller = try Node("a")
            caller.knows("b", at: called.hub.address)
            caller.forward(1, to: "b", serial: 1)
            caller.forward(2, to: "b", serial: 2)
            try await caller.wait("answers") { $0.answers == [1, 2] }
        }
        try await called.wait("the end of both connections") { $0.ends.count == 2 }
        let caller = try Node("a", 2)
        caller.knows([("b", called.hub.address), ("aa", try Self.nobody())])
        caller.forward(1, to: "b")
        try await caller.wait("the answer") { $0.answers == [1] }
        called.stop()
        try await caller.wait("the end of the link") { $0.lost == ["b"] }
        // What comes before others know that it is gone goes to the next owner at once. A node of which that is not
        // known is tried for three seconds; of links that end at the same time, its would come first.
        caller.forward(2, to: "b")
        caller.forward(3, to: "aa")
        try await caller.wait("the next request") { $0.answers.count > 1 }
        #expect(caller.told.state.withLock { Array($0.answers.prefix(2)) } == [1, -2])
    }

    @Test("a node that cannot be reached any more is given up, though attempts to reach it go on")
    func unreachable() async throws {
        let (caller, called) = (try Node("a"), try Node("b"))
        var proxy: FaultyProxy? = try FaultyProxy(to: called.hub.address, seed: 1)
        proxy?.faults.calm()
        caller.knows("b", at: try #require(proxy).address)
        caller.forward(1, to: "b")
        try await caller.wait("the answer") { $0.answers == [1] }
        proxy = nil
        try await caller.wait("the end of the link") { $0.lost == ["b"] }
    }

    @Test("a node that comes back as another process is told apart from the one that died")
    func restart() async throws {
        let called = try Node("b")
        let first = try Node("a", 1)
        first.knows("b", at: called.hub.address)
        first.forward(1, to: "b")
        try await first.wait("the answer") { $0.answers == [1] }
        // It still exists, but without listeners.
        let second = try Node("a", 2)
        second.knows("b", at: called.hub.address)
        second.forward(2, to: "b")
        try await second.wait("the answer") { $0.answers == [2] }
        try await called.wait("the end of the first one's connection") { $0.ends.count == 1 }
    }

    private static let large = Reply.value(CanonicalJSON(trusted: [UInt8](repeating: 0x31, count: 1 << 20)))

    @Test("answers count as waiting until the other node has them, or is gone")
    func backlog() async throws {
        let called = try Node("b", reply: Self.large)
        let caller = try Node("a")
        var proxy: FaultyProxy? = try FaultyProxy(to: called.hub.address, seed: 1)
        proxy?.faults.calm()
        caller.knows("b", at: try #require(proxy).address)
        for number in 1...5 as ClosedRange<Int64> { caller.forward(number, to: "b", serial: UInt64(number)) }
        try await caller.wait("all answers") { $0.answers.count == 5 }
        try await called.wait("the acknowledgement") { !$0.isWaiting }
        #expect(called.told.state.withLock { $0.queued } > 5 << 20)
        // The link is cut, so these are kept until it is given up; then nobody is left to have one.
        proxy = nil
        let others = (1...5 as ClosedRange<UInt64>).map { ConnectionID(forwarded: .realtime, link: 0, serial: $0) }
        called.answer(others.map { ($0, 9, Self.large) })
        try await called.wait("the end of the link") { $0.ends.count == 5 && !$0.isWaiting }
        // Otherwise requests that wait for room could go on.
        #expect(called.told.state.withLock { $0.endsBefore } == 5)
        called.answer(others.map { ($0, 10, Self.large) })
        try await called.wait("that nobody gets them") { !$0.isWaiting }
        #expect(called.told.state.withLock { $0.queued } > 15 << 20)
    }

    @Test("answers count for the link that their requests came over")
    func backlogs() async throws {
        let called = try Node("b")
        let callers = [try Node("a"), try Node("c")]
        for (link, caller) in callers.enumerated() {
            caller.knows("b", at: called.hub.address)
            caller.forward(1, to: "b")
            try await caller.wait("the answer") { $0.answers == [1] }
            #expect(called.told.state.withLock { $0.waiting.keys.sorted() } == Array(0...link))
        }
        // A number that was in use comes again after all others.
        callers[0].stop()
        try await called.wait("the end of the link") { $0.ends.count == 1 }
        let next = try Node("d")
        next.knows("b", at: called.hub.address)
        next.forward(1, to: "b")
        try await next.wait("the answer") { $0.answers == [1] }
        try await called.wait("the acknowledgements") { !$0.isWaiting }
        #expect(called.told.state.withLock { $0.waiting.keys.sorted() } == [0, 1, 2])
    }

    @Test("have numbers that are not used again at once, and share them if there are more links")
    func numbers() {
        var numbers = LinkNumbers()
        let all = Array(0..<ConnectionID.linksMax)
        #expect(all.map { _ in numbers.next(except: []) } == all)
        #expect(numbers.next(except: [0, 1, 3]) == 2)
        #expect(numbers.next(except: [0, 1, 2, 3]) == 4)
        #expect(numbers.next(except: Set(all)) == 5)
    }
}
