import HearthEtcdGateway
import HearthEtcdMessages
package import HearthEventLoop
import HearthReplicatedLog

/// Raises the format of a cluster, for operators (``StoreFormat``).
package struct FormatUpgrade {
    /// Why the format stays as it is: one line for people.
    package struct Failure: Error, Hashable, CustomStringConvertible, Sendable {
        package let description: String
    }

    private let clients: StoreClients

    private static let callDuration = Duration.seconds(5)

    /// - parameter tls: a client's; nil for connections that are not encrypted.
    package init(_ stores: [EtcdStore], tls: TLSContext? = nil) {
        clients = StoreClients(stores, tls: tls, callsTakeAtMost: Self.callDuration)
    }

    /// Raises it to the latest one, in all etcd clusters. All nodes that run must read it. Waits.
    ///
    /// - returns: the earliest format that an etcd cluster had, and the one that all have now.
    package func run() throws(Failure) -> (before: UInt8, after: UInt8) {
        let formats = try clients.stores.indices.map { store throws(Failure) in try run(at: store) }
        return (formats.map(\.before).min() ?? 0, formats.map(\.after).min() ?? 0)
    }

    private func run(at store: Int) throws(Failure) -> (before: UInt8, after: UInt8) {
        let overview = FormatOverview(try call(FormatOverview.request, at: store))
        if overview.format >= .latest { return (overview.format.rawValue, overview.format.rawValue) }
        let place = clients.stores.count == 1 ? "" : ", as the etcd cluster '\(clients.stores[store].name)' has it"
        guard !overview.nodes.isEmpty else { throw Failure(description: "no node runs\(place)") }
        let earlier = overview.nodes.filter { $0.value < .latest }.keys.sorted()
        guard earlier.isEmpty else {
            let names = earlier.map { "'\($0)'" }.joined(separator: ", ")
            throw Failure(
                description:
                    "an earlier version, which does not read format \(StoreFormat.latest.rawValue), runs at \(names)\(place)"
            )
        }
        guard try call(overview.raising(to: .latest), at: store).hasSucceeded else {
            throw Failure(description: "the format or the nodes have changed meanwhile: try again")
        }
        return (overview.format.rawValue, StoreFormat.latest.rawValue)
    }

    private func call(_ call: EtcdTransaction, at store: Int) throws(Failure) -> EtcdTransactionReply {
        do throws(EtcdError) { return try clients.call(call, at: store) } catch {
            throw Failure(description: clients.text(error, at: store))
        }
    }
}
