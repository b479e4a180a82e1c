import HearthEtcdGateway
import HearthEtcdMessages
import HearthEventLoop
import HearthReplicatedLog
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthClusterNode

@Suite(
    "A node's registration", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .timeLimit(.minutes(15)))
struct NodeRegistrationTests {
    @Test("succeeds though its calls take longer together than a lease that is not renewed")
    func slow() throws {
        let servers = try EtcdServers(count: 1)
        let proxy = try LateProxy(to: .loopback(port: servers.ports[0]))
        let member = EtcdMember(host: proxy.address.host, port: proxy.address.port)
        let store = NodeStore(EtcdStore("home", [member]), index: 0, tls: nil, incarnation: 1)
        var registration = NodeRegistration("n1", NodeRecord(incarnation: 1, address: ""), store) { _ in }
        // The node has a connection and a lease. It does nothing else before the members agree.
        #expect(registration.run().lease == nil)
        proxy.answer(after: .milliseconds(700))
        store.identities.withLock { $0.look([(member, 1)]) }
        try blockUntil("the registration") { registration.run().lease != nil }
        proxy.answer(after: .zero)
        registration.end()
    }

    @Test("states the copy of a database after it has stated that it has no files of it, not after it has stated some")
    func copies() throws {
        let servers = try EtcdServers(count: 1)
        let member = EtcdMember(host: "127.0.0.1", port: servers.ports[0])
        let store = NodeStore(EtcdStore("home", [member]), index: 0, tls: nil, incarnation: 1)
        var registration = NodeRegistration("n1", NodeRecord(incarnation: 1, address: ""), store) { _ in }
        store.identities.withLock { $0.look([(member, 1)]) }
        let client = store.makeClient()
        try blockUntil("the registration") { registration.run().lease != nil }
        let lease = try #require(registration.run().lease)
        let some = HeldFiles.through(epoch: 7, sequence: 20)
        let expected: [(String, stated: HeldFiles?, HeldFiles)] = [
            ("a", nil, .copying), ("b", .nothing, .copying), ("c", some, some),
        ]
        for case (let database, let stated?, _) in expected {
            let key = LogKeys(database: database).held(by: "n1")
            let put = EtcdTransaction(then: [.put(key: key, value: stated.bytes, lease: lease)], isRepeatable: true)
            _ = try client.call(put, within: .seconds(10))
        }
        registration.copied = ["a": 10, "b": 10, "c": 10]
        for (database, _, held) in expected {
            let key = LogKeys(database: database).held(by: "n1")
            try blockUntil("the statement of \(database)") {
                _ = registration.run()
                let question = EtcdTransaction(then: [.range(EtcdRange(.key(key)))], isRepeatable: true)
                return try client.call(question, within: .seconds(10)).values(0).first?.value == held.bytes
            }
        }
        registration.end()
    }
}
