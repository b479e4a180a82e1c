import HearthServerSupport
import Glibc
import HearthClient
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

/// What clients see while the nodes of a cluster are replaced one after the other.
@Suite(
    "A rolling upgrade", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .timeLimit(.minutes(15)))
struct ClusterUpgradeTests {
    private struct Progress: Sendable {
        var written: [String] = []
        var failures: [String] = []
        var disconnects = 0
        var isOver = false
    }

    /// Writes one key after the other, until it is told to end.
    private static func write(_ database: Database, _ name: String, _ shared: Shared) async {
        var number = 0
        while !shared.progress.withLock({ $0.isOver }) {
            number += 1
            let key = "k\(number)"
            do {
                try await database.reference(withPath: "\(name)/\(key)").setValue(.int(Int64(number)))
                shared.progress.withLock { $0.written.append(key) }
            } catch {
                shared.progress.withLock { $0.failures.append("\(key): \(error)") }
            }
        }
    }

    private static func countDisconnects(of database: Database, _ shared: Shared) async {
        var wasConnected = false
        for await state in database.connectionStates {
            let isConnected = state == .connected
            if wasConnected, !isConnected { shared.progress.withLock { $0.disconnects += 1 } }
            wasConnected = isConnected
        }
    }

    @Test("of three nodes under load shows clients reconnects, and nothing else")
    func upgrade() async throws {
        var cluster = try ProcessCluster(forwardsWrites: true)
        for index in 0..<3 { try await cluster.start(index) }
        let databases = try cluster.ports.map { try Database(url: "ws://127.0.0.1:\($0)") }
        let all = databases.map { _ in Shared() }
        let writers = databases.enumerated().map { index, database in
            Task { await Self.write(database, "c\(index)", all[index]) }
        }
        let watchers = zip(databases, all).map { database, shared in
            Task { await Self.countDisconnects(of: database, shared) }
        }
        defer {
            for shared in all { shared.progress.withLock { $0.isOver = true } }
            for watcher in watchers { watcher.cancel() }
        }
        func goOn(_ what: String) async throws {
            for shared in all {
                let count = shared.progress.withLock { $0.written.count }
                try await eventually("writes after \(what)") {
                    shared.progress.withLock { $0.written.count } >= count + 10
                }
            }
        }
        try await goOn("the start")
        for index in 0..<3 {
            // A node says what it has some seconds after its start, and no database is given to one that has not.
            try await eventually("all is known") { try await cluster.command("status").code == 0 }
            let drained = try await cluster.command("drain", "n\(index + 1)")
            #expect(drained.code == 0, "\(drained)")
            let node = try #require(cluster.nodes[index])
            node.signal(SIGTERM)
            #expect(try await node.outcome().code == 0)
            // The new version.
            try await cluster.start(index)
            try await goOn("the upgrade of node \(index + 1)")
        }
        for shared in all { shared.progress.withLock { $0.isOver = true } }
        for writer in writers { await writer.value }
        for database in databases { await database.close() }
        for (index, shared) in all.enumerated() {
            let progress = shared.progress.withLock { $0 }
            #expect(progress.failures.isEmpty)
            #expect(progress.disconnects >= 1, "its own node has ended")
            for port in cluster.ports {
                let reader = try Database(url: "ws://127.0.0.1:\(port)")
                let found = try await reader.reference(withPath: "c\(index)").getData()
                #expect(Int(found.childrenCount) >= progress.written.count, "acknowledged writes are lost")
                await reader.close()
            }
        }
    }

    private final class Shared: Sendable {
        let progress = Mutex(Progress())
    }
}
