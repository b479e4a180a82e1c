import HearthDatabaseHost
package import HearthEventLoop
import Synchronization
package import HearthSystem

/// A client as far as its address tells: an IPv4 address, or the network of an IPv6 address. Its connections share one
/// client's limits. Any thread.
package final class Client: Sendable {
    /// Tells clients apart. A network has the same number for as long as the process runs.
    package let number: UInt64
    /// Nil where the address is unknown.
    package let network: SocketAddress?
    /// The numbers of its sessions and database names are not limited: it is on this machine.
    let isExempt: Bool

    /// Its share of the ``RequestMemory``.
    let requestBytes = Atomic<Int>(0)
    /// Of these, in small claims.
    let smallRequestBytes = Atomic<Int>(0)
    /// Realtime sessions and event streams.
    package let sessions = LimitedCount()
    /// Of these, the sessions that are polled.
    package let polledSessions = LimitedCount()
    /// Names of databases without files that were entered for this client.
    private let unwrittenNames = LimitedCount()

    private let clients: Clients?

    fileprivate init(number: UInt64, network: SocketAddress?, isExempt: Bool, in clients: Clients?) {
        self.number = number
        self.network = network
        self.isExempt = isExempt
        self.clients = clients
    }

    /// A client without an identity and limits.
    static func unlimited() -> Client { Client(number: 0, network: nil, isExempt: true, in: nil) }

    deinit {
        if let clients, let network { clients.forget(network) }
    }

    /// A limit for this client: none if it is exempt.
    package func limit(_ countMax: Int) -> Int { isExempt ? .max : countMax }
}

extension Client: NameUser {
    package func enterName(max countMax: Int) -> Bool { unwrittenNames.enter(max: limit(countMax)) }

    package func leaveName() { unwrittenNames.leave() }
}

/// The clients that have connections. A client is here for as long as anything refers to it.
package final class Clients: Sendable {
    private struct Entry {
        weak var client: Client?
    }

    private let table = Mutex<[SocketAddress: Entry]>([:])
    private let proxies: TrustedProxies
    private let exemptsLoopback: Bool
    private let unknown = Client.unlimited()

    package init(behind proxies: TrustedProxies, exemptsLoopback: Bool) {
        self.proxies = proxies
        self.exemptsLoopback = exemptsLoopback
    }

    /// The client at an address. Costs a lock and a look-up.
    package func client(at address: SocketAddress?) -> Client {
        guard let address else { return unknown }
        let network = address.network
        return table.withLock { table in
            if let client = table[network]?.client { return client }
            let client = Client(
                number: Self.number(of: network), network: network, isExempt: isLocal(address), in: self)
            table[network] = Entry(client: client)
            return client
        }
    }

    /// A hash with a random key of the process, so that clients cannot make two networks collide. Never 0, which means
    /// an unknown address.
    private static func number(of network: SocketAddress) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(network)
        return UInt64(UInt(bitPattern: hasher.finalize())) | 1
    }

    /// Whether some requests come from clients that a proxy names.
    package var knowsProxies: Bool { !proxies.isEmpty }

    /// The client that a request comes from: that at the peer's address, or the one that trusted proxies name.
    package func client(_ peer: SocketAddress?, forwardedFor list: [UInt8]?) -> Client {
        client(at: proxies.client(peer, forwardedFor: list))
    }

    /// Whether the connections of an address are not limited: those of proxies carry the requests of many clients.
    package func isExempt(_ address: SocketAddress) -> Bool { isLocal(address) || proxies.contains(address) }

    private func isLocal(_ address: SocketAddress) -> Bool { exemptsLoopback && address.isLoopback }

    var count: Int { table.withLock { $0.count } }

    fileprivate func forget(_ network: SocketAddress) {
        let other = table.withLock { table in
            // Another one may have taken the place of the one that ends.
            let other = table[network]?.client
            if other == nil { table[network] = nil }
            return other
        }
        // This may be the last reference to it, whose end takes the lock as well.
        _ = consume other
    }
}
