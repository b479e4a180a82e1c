import HearthServerSupport
import HearthEventLoop
import Glibc
import HearthJSONTree
import Synchronization
import HearthTestSupport
import Testing
import HearthClient
import HearthClientSession
import HearthConnection

/// Clients that drop and come back to a server in a process of its own, which is killed under them.
@Suite("Clients that come back", .timeLimit(.minutes(15)))
struct ResumeTests {
    /// One that wants to know of everything at `/log`, over all its connections.
    private final class Follower: Sendable {
        private struct State {
            var position: [UInt8] = []
            var heard: [String] = []
            var resumed = 0

            /// Updates have the missed changes in the order of keys.
            mutating func hear(_ keys: [String]) {
                heard += keys.sorted { (Int($0.dropFirst()) ?? .max) < (Int($1.dropFirst()) ?? .max) }
            }
        }

        private let state = Mutex(State())
        private let seed: UInt64

        init(seed: UInt64) { self.seed = seed }

        var heard: [String] { state.withLock { $0.heard } }
        var resumed: Int { state.withLock { $0.resumed } }

        /// While there is nothing yet.
        func begin(_ url: DatabaseURL, on loop: EventLoop) async throws {
            let changes = try await Connection.open(url, on: loop).listen(path("log"), since: [])
            for try await change in changes {
                #expect(try change == .set("log", "null"))
                break
            }
            #expect(!changes.isResumed)
            state.withLock { $0.position = changes.position ?? [] }
        }

        /// Drops and comes back until the server is gone, or the last entry came.
        func follow(_ url: DatabaseURL, on loop: EventLoop, until last: String) async throws {
            var random = SeededRandom(seed: seed)
            do {
                while heard.last != last {
                    let connection = try await Connection.open(url, on: loop)
                    let since = state.withLock { $0.position }
                    let changes = try await connection.listen(path("log"), since: since)
                    state.withLock { $0.resumed += changes.isResumed ? 1 : 0 }
                    #expect(changes.isResumed, "seed \(seed)")
                    defer { state.withLock { $0.position = changes.position ?? $0.position } }
                    var left = Int.random(in: 1...40, using: &random)
                    for try await change in changes {
                        // The missed changes come at once.
                        let keys = change.assignments.map {
                            String(decoding: $0.target.text.dropFirst(4), as: UTF8.self)
                        }
                        state.withLock { $0.hear(keys) }
                        left -= 1
                        if left == 0 || keys.contains(last) { break }
                    }
                    connection.close()
                }
            } catch ConnectionError.disconnected {
                // Killed.
            }
        }
    }

    @Test("have every write once, though the server is killed, and those in order that they were there for")
    func kills() async throws {
        let folder = TemporaryFolder()
        let clients = try TestLoop()
        let followers = (0..<8).map { Follower(seed: $0) }
        var written = 0
        for round in 0..<4 {
            let server = try await ServerProcess(folder.path, "--durability", round == 1 ? "process" : "full")
            let url = try server.url()
            let writer = try await Connection.open(url, on: clients.loop)
            let isLast = round == 3
            if round == 0 { for follower in followers { try await follower.begin(url, on: clients.loop) } }
            let resumedBefore = followers.map(\.resumed)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for follower in followers {
                    group.addTask { try await follower.follow(url, on: clients.loop, until: "end") }
                }
                // A busy machine might connect some of them only after the writes.
                try await eventually("all followers") {
                    zip(followers, resumedBefore).allSatisfy { $0.resumed > $1 }
                }
                do {
                    for _ in 0..<150 {
                        written += 1
                        try await writer.set(place("log/k\(written)"), to: "1")
                        if !isLast, written % 150 == 100 { server.process.signal(SIGKILL) }
                    }
                    try await writer.set(place("log/end"), to: "1")
                } catch ConnectionError.disconnected {
                    // The last one may be there or not.
                }
                try await group.waitForAll()
            }
            guard isLast else {
                #expect(try await server.process.outcome().code == -SIGKILL)
                written = (round + 1) * 150
                continue
            }
            let log = try await writer.get(path("log"))
            let keys = log.children.reduce(0) { count, _ in count + 1 }
            for follower in followers {
                #expect(Set(follower.heard).count == keys)
                #expect(follower.heard.count == keys)
                #expect(follower.resumed > 4)
                let numbers = follower.heard.compactMap { Int($0.dropFirst()) }
                #expect(numbers == numbers.sorted())
                #expect(numbers.count == keys - 1)
            }
            server.process.signal(SIGTERM)
            _ = try await server.process.outcome()
        }
    }

    @Test("hearth watch --resume prints what it missed as one change")
    func watch() async throws {
        let folder = TemporaryFolder()
        let clients = try TestLoop()
        // Nobody else may get it while no process has it.
        let address = "127.0.0.1:\(try FreePort.several(1)[0])"
        let first = try await ServerProcess(folder.path, "--listen", address)
        let watch = try HearthProcess(["watch", "/a", "--resume", "--url", "ws://\(first.address)/"])
        #expect(await watch.line() == "set /a null\n")
        let writer = try await Connection.open(first.url(), on: clients.loop)
        try await writer.set(place("a"), to: #"{"b":1,"z":1}"#)
        #expect(await watch.line() == "set /a {\"b\":1,\"z\":1}\n")
        first.process.signal(SIGKILL)
        _ = try await first.process.outcome()
        // At another place, so that the watch misses all of it.
        let second = try await ServerProcess(folder.path)
        let other = try await Connection.open(second.url(), on: clients.loop)
        for value in ["2", "3", "null"] as [CanonicalJSON] {
            try await other.set(place("a/b"), to: value)
            try await other.set(place("a/c"), to: value)
        }
        try await other.set(place("a/d"), to: "4")
        second.process.signal(SIGTERM)
        _ = try await second.process.outcome()
        let third = try await ServerProcess(folder.path, "--listen", address)
        #expect(await watch.line() == "update /a {\"b\":null,\"c\":null,\"d\":4}\n")
        let last = try await Connection.open(third.url(), on: clients.loop)
        try await last.set(place("a/b"), to: "5")
        #expect(await watch.line() == "set /a/b 5\n")
        watch.signal(SIGINT)
        #expect(try await watch.outcome().code == 130)
    }

    @Test(
        "a cache from before an older copy of a cluster's files was put back is brought up to date",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func olderCopy() async throws {
        let (folder, copy, cache) = (TemporaryFolder(), TemporaryFolder(), TemporaryFolder())
        func files(of source: String, to target: String) {
            for name in TemporaryFolder.files(in: target) { unlink("\(target)/\(name)") }
            for name in TemporaryFolder.files(in: source) where !name.hasSuffix("-shm") && name != "lock" {
                TemporaryFolder.write(TemporaryFolder.contents(of: "\(source)/\(name)"), to: "\(target)/\(name)")
            }
        }
        // Nobody else may get it while no process has it.
        let address = "127.0.0.1:\(try FreePort.several(1)[0])"
        func node(_ etcd: EtcdServers) async throws -> ServerProcess {
            try await ServerProcess(
                folder.path, "--cluster", "etcd://127.0.0.1:\(etcd.ports[0])", "--node", "n1", "--no-auth", "--listen",
                address)
        }
        func write(_ name: String, to node: ServerProcess) async throws {
            let writer = try Database(url: "ws://\(node.address)")
            for number in 1...5 { try await writer.reference(withPath: "l/\(name)\(number)").setValue(1) }
            await writer.close()
        }
        func end(_ node: ServerProcess) async throws {
            node.process.signal(SIGTERM)
            _ = try await node.process.outcome()
        }
        let etcd = try EtcdServers(count: 1)
        let first = try await node(etcd)
        try await write("a", to: first)
        files(of: folder.path, to: copy.path)
        try await write("b", to: first)
        // The client knows one database, wherever it is at the moment.
        var options = DatabaseOptions()
        options.persistenceFile = "\(cache.path)/cache"
        let before = try Database(url: "ws://\(first.address)", options: options)
        let seen = EventLog()
        seen.observe(before.reference(withPath: "l"), "", [.value])
        func value(_ names: String...) -> String {
            "value: {\(names.flatMap { name in (1...5).map { #""\#(name)\#($0)":1"# } }.joined(separator: ","))}"
        }
        #expect(await seen.next() == value("a", "b"))
        await before.close()
        try await end(first)
        files(of: copy.path, to: folder.path)
        // The cluster's log begins again with what the node has. Its numbers are given out again.
        let other = try EtcdServers(count: 1)
        let second = try await node(other)
        // As soon as the node has said what it has.
        let rebuild = ["cluster", "rebuild", "-y", "--cluster", "etcd://127.0.0.1:\(other.ports[0])"]
        while try await HearthProcess(rebuild).outcome().code != 0 {}
        try await write("c", to: second)
        let after = try Database(url: "ws://\(first.address)", options: options)
        let log = EventLog()
        log.observe(after.reference(withPath: "l"), "", [.value])
        #expect(await log.next() == value("a", "b"))
        // The answer to this comes after that to the listen.
        _ = try await after.reference(withPath: "none").getData()
        try await write("d", to: second)
        var last: String?
        repeat { last = await log.next() } while last?.contains(#""d5""#) == false
        #expect(last == value("a", "c", "d"))
        await after.close()
        try await end(second)
        withExtendedLifetime((etcd, other)) {}
    }
}
