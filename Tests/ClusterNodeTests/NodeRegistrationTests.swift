import HearthEtcdGateway
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
}
