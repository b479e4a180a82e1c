import Synchronization

/// Counts the open connections of a listener, over all loops.
final class ConnectionGauge: Sendable {
    // Relaxed: the number orders no other memory access.
    private let value = Atomic<Int>(0)
    private let networks = Mutex<[SocketAddress: Int]>([:])

    var count: Int { value.load(ordering: .relaxed) }

    /// Counts one more connection until the place is let go.
    ///
    /// - parameter network: the client's, if its connections are limited.
    /// - returns: nil if the network has `countMax` connections already.
    func place(in network: SocketAddress?, max countMax: Int) -> Place? {
        if let network {
            let isAdmitted = networks.withLock { networks in
                let count = networks[network, default: 0]
                if count < countMax { networks[network] = count + 1 }
                return count < countMax
            }
            guard isAdmitted else { return nil }
        }
        value.add(1, ordering: .relaxed)
        return Place(in: self, network)
    }

    private func leave(_ network: SocketAddress?) {
        value.subtract(1, ordering: .relaxed)
        guard let network else { return }
        networks.withLock { networks in
            let count = networks[network, default: 1] - 1
            networks[network] = count > 0 ? count : nil
        }
    }

    /// That of one connection.
    final class Place: Sendable {
        private let gauge: ConnectionGauge
        private let network: SocketAddress?

        fileprivate init(in gauge: ConnectionGauge, _ network: SocketAddress?) {
            self.gauge = gauge
            self.network = network
        }

        deinit { gauge.leave(network) }
    }
}
