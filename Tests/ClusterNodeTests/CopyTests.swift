import HearthEventLoop
import Glibc
import HearthRealtimeDatabase
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthClusterNode

@Suite("Copies of databases between nodes", .timeLimit(.minutes(15)))
struct CopyTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let request = CopyRequest(database: "d", need: CopyNeed(epoch: 7, floor: 3))

    private let folder = TemporaryFolder()
    private var received: String { "\(folder.path)/received" }

    /// A node that has a copy for those who ask.
    private static func sender(
        _ makeCopy: @escaping @Sendable (CopyRequest) -> Result<OutgoingCopy, CopyFailure>
    ) throws -> PeerHub {
        let delegate = PeerDelegate(
            requests: { _, _ in }, news: { _, _ in }, report: { _ in }, makeCopy: makeCopy)
        let configuration = PeerConfiguration(address: .loopback(port: 0), secret: ClusterSecret(secret))
        return try PeerHub(configuration, name: "b", incarnation: 1, delegate)
    }

    private static func open(_ path: String) -> Result<OutgoingCopy, CopyFailure> {
        .success(OutgoingCopy(descriptor: Glibc.open(path, O_RDONLY | O_CLOEXEC)))
    }

    /// What a node receives. It waits on a thread of its own.
    private static func receive(
        from address: SocketAddress, to path: String, secret: String = secret, version: UInt16 = PeerHandshake.version
    ) async throws -> Result<Int, CopyFailure> {
        try await withCheckedThrowingContinuation { done in
            do {
                _ = try NamedThread(name: "receiver") {
                    done.resume(
                        returning: Result { () throws(CopyFailure) in
                            var hello = PeerHandshake.Hello(
                                name: "a", incarnation: 2, session: Array(repeating: 1, count: 16))
                            hello.version = version
                            return try CopyReceiver(hello, ClusterSecret(secret), address) { true }
                                .receive(request, to: path)
                        })
                }
            } catch {
                done.resume(throwing: error)
            }
        }
    }

    /// Larger than what is sent at once, and than what connections take.
    private func content(_ seed: UInt64) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return (0..<700_000).flatMap { _ in
            withUnsafeBytes(of: random.next()) { Array($0) }
        }
    }

    @Test("arrive as they are")
    func intact() async throws {
        let source = "\(folder.path)/source"
        let content = content(1)
        TemporaryFolder.write(content, to: source)
        let requests = Mutex<[CopyRequest]>([])
        let hub = try Self.sender { request in
            requests.withLock { $0.append(request) }
            return Self.open(source)
        }
        defer { hub.stop() }
        #expect(try await Self.receive(from: hub.address, to: received) == .success(content.count))
        #expect(TemporaryFolder.contents(of: received) == content)
        #expect(requests.withLock { $0 } == [Self.request])
    }

    @Test(
        "are given to nodes of earlier and later versions too, if those speak this one",
        arguments: [1, 9] as [UInt16])
    func versions(version: UInt16) async throws {
        let source = "\(folder.path)/source"
        TemporaryFolder.write(content(2), to: source)
        let hub = try Self.sender { _ in Self.open(source) }
        defer { hub.stop() }
        #expect(try await Self.receive(from: hub.address, to: received, version: version) == .success(content(2).count))
        #expect(TemporaryFolder.contents(of: received) == content(2))
    }

    @Test("fail where a connection breaks, and never look complete", arguments: [1, 2, 3])
    func breaks(seed: UInt64) async throws {
        let source = "\(folder.path)/source"
        let content = content(seed)
        TemporaryFolder.write(content, to: source)
        let hub = try Self.sender { _ in Self.open(source) }
        defer { hub.stop() }
        let proxy = try FaultyProxy(to: hub.address, seed: seed)
        // No connection lasts for so many bytes.
        guard case .failure = try await Self.receive(from: proxy.address, to: received) else {
            Issue.record("seed \(seed): received over a connection that breaks")
            return
        }
        proxy.faults.calm()
        // The other node may not know yet that the first one has ended, but has room for two.
        #expect(try await Self.receive(from: proxy.address, to: received) == .success(content.count), "seed \(seed)")
        #expect(TemporaryFolder.contents(of: received) == content)
    }

    @Test("are refused with a reason, and are for nodes of the cluster only")
    func refusals() async throws {
        let hub = try Self.sender { _ in .failure(CopyFailure(description: "it has no such database")) }
        defer { hub.stop() }
        #expect(
            try await Self.receive(from: hub.address, to: received)
                == .failure(CopyFailure(description: "it has no such database")))
        #expect(
            try await Self.receive(from: hub.address, to: received, secret: "another secret, as long as the first")
                == .failure(CopyFailure(description: "it has another --cluster-secret")))
    }

    @Test("are made for two nodes at a time, however long that takes")
    func bound() async throws {
        let source = "\(folder.path)/source"
        TemporaryFolder.write([1, 2, 3], to: source)
        let mayGoOn = Semaphore()
        let hub = try Self.sender { _ in
            mayGoOn.wait()
            return Self.open(source)
        }
        defer { hub.stop() }
        let results = try await withThrowingTaskGroup(of: Result<Int, CopyFailure>.self) { group in
            for number in 0..<3 {
                group.addTask { [received] in try await Self.receive(from: hub.address, to: "\(received)\(number)") }
            }
            var results: [Result<Int, CopyFailure>] = []
            for try await result in group {
                results.append(result)
                // The first one that ends is the one for which there was no room.
                if results.count == 1 { for _ in 0..<2 { mayGoOn.signal() } }
            }
            return results
        }
        let refusal = CopyFailure(description: "it sends as many copies as it may, to other nodes")
        #expect(results == [.failure(refusal), .success(3), .success(3)])
    }

    @Test("are asked for in messages that no greeting can be mistaken for")
    func messages() {
        #expect(CopyRequest(Self.request.bytes[...]) == Self.request)
        #expect(PeerConnection.Greeting(Self.request.bytes[...]) == nil)
        #expect(CopyRequest(PeerConnection.Greeting(received: .max, flag: true).bytes[...]) == nil)
        for piece in [CopyPiece.refused("no"), .bytes([1, 2]), .pending, .end] {
            #expect(CopyPiece(piece.bytes[...]) == piece)
        }
        for bytes in [[], [4], [2, 0], [3, 0]] as [[UInt8]] { #expect(CopyPiece(bytes[...]) == nil) }
    }

    @Test("a node says how large its copy is before it sends one; an earlier version refuses to say")
    func sizes() async throws {
        func size(_ makeCopy: @escaping @Sendable (CopyRequest) -> Result<OutgoingCopy, CopyFailure>) async throws
            -> Result<Int64, CopyFailure>
        {
            let hub = try Self.sender(makeCopy)
            defer { hub.stop() }
            let address = hub.address
            return try await withCheckedThrowingContinuation { done in
                do {
                    _ = try NamedThread(name: "receiver") {
                        done.resume(
                            returning: Result { () throws(CopyFailure) in
                                let hello = PeerHandshake.Hello(
                                    name: "a", incarnation: 2, session: Array(repeating: 1, count: 16))
                                return try CopyReceiver(hello, ClusterSecret(Self.secret), address) { true }
                                    .receiveSize(of: "d", epoch: 7)
                            })
                    }
                } catch {
                    done.resume(throwing: error)
                }
            }
        }
        let told = try await size { request in
            request.asksForSize ? OutgoingCopy.size(123_456_789_012) : .failure(.init(description: ""))
        }
        #expect(told == .success(123_456_789_012))
        // It compares what the copy needs with what it has.
        let refusal = CopyFailure(description: "its own files end at 10")
        let early = try await size { $0.need.floor <= 11 ? OutgoingCopy.size(0) : .failure(refusal) }
        #expect(early == .failure(refusal))
    }
}
