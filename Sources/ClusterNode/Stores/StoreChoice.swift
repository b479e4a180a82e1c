import HearthEtcdMessages
package import HearthEventLoop
import HearthReplicatedLog
import HearthTreeStorage

/// Chooses the etcd cluster of a database that the cluster does not have yet, for operators.
package struct StoreChoice {
    /// Why nothing was chosen: one line for people.
    package struct Failure: Error, Hashable, CustomStringConvertible, Sendable {
        package let description: String
    }

    private let clients: StoreClients

    private static let callDuration = Duration.seconds(5)

    /// - parameter tls: a client's; nil for connections that are not encrypted.
    package init(_ stores: [EtcdStore], tls: TLSContext? = nil) {
        clients = StoreClients(stores, tls: tls, callsTakeAtMost: Self.callDuration)
    }

    /// Waits for etcd.
    package func place(_ database: String, in name: String) throws(Failure) {
        guard DataFolder.isFileName(database) else {
            throw Failure(description: "'\(database)' cannot be the name of a database")
        }
        guard !ClusterMembers.allHold(database) else {
            throw Failure(description: "the nodes' own database '\(database)' is always at \(StoreDirectory.home)")
        }
        guard clients.stores.contains(where: { $0.name == name }) else {
            let names = clients.stores.map(\.name).joined(separator: ", ")
            throw Failure(description: "--cluster names no etcd cluster '\(name)', but \(names)")
        }
        let home = StoreDirectory.home(
            try call(StoreDirectory.lookAtHome(own: DataFolder.clusterDatabase), at: 0))
        for index in clients.stores.indices.dropFirst() {
            let other = StoreDirectory.elsewhere(try call(StoreDirectory.lookElsewhere(for: database), at: index))
            if clients.stores[index].name == name, let node = home.nodes.subtracting(other.nodes).min() {
                throw Failure(description: "the node '\(node)' does not use the etcd cluster '\(name)'")
            }
            if other.hasLog {
                throw Failure(
                    description:
                        "the etcd cluster '\(clients.stores[index].name)' has a log of the database '\(database)'"
                )
            }
        }
        // An etcd cluster without any database gets the latest format.
        if let beginning = FormatOverview(try call(FormatOverview.request, at: 0)).beginning {
            _ = try call(beginning, at: 0)
        }
        let reply = try call(StoreDirectory.enter(database, in: name), at: 0)
        if reply.hasSucceeded { return }
        switch StoreDirectory.found(reply) {
        case .store(name): return
        case .store(let other):
            throw Failure(
                description: "the log of the database '\(database)' is in the etcd cluster '\(other)', and stays there")
        default:
            throw Failure(description: "nodes miss a log of the database '\(database)': see 'hearth cluster rebuild'")
        }
    }

    private func call(_ call: EtcdTransaction, at store: Int) throws(Failure) -> EtcdTransactionReply {
        do throws(EtcdError) { return try clients.call(call, at: store) } catch {
            throw Failure(description: clients.text(error, at: store))
        }
    }
}
