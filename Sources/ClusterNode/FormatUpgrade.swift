package import HearthEtcdGateway
import HearthEtcdMessages
package import HearthEventLoop
import HearthReplicatedLog

/// Raises the format of a cluster, for operators (``StoreFormat``).
package struct FormatUpgrade {
    /// Why the format stays as it is: one line for people.
    package struct Failure: Error, Hashable, CustomStringConvertible, Sendable {
        package let description: String
    }

    private let client: EtcdClient

    private static let callDuration = Duration.seconds(5)

    /// - parameter tls: a client's; nil for connections that are not encrypted.
    package init(_ members: [EtcdMember], tls: TLSContext? = nil) {
        client = EtcdClient(EtcdCluster(members, tls: tls))
    }

    /// Raises it to the latest one, which all nodes that run must read. Waits.
    package func run() throws(Failure) -> (before: UInt8, after: UInt8) {
        let overview = FormatOverview(try call(FormatOverview.request))
        if overview.format >= .latest { return (overview.format.rawValue, overview.format.rawValue) }
        guard !overview.nodes.isEmpty else { throw Failure(description: "no node runs") }
        let earlier = overview.nodes.filter { $0.value < .latest }.keys.sorted()
        guard earlier.isEmpty else {
            let names = earlier.map { "'\($0)'" }.joined(separator: ", ")
            throw Failure(
                description:
                    "an earlier version, which does not read format \(StoreFormat.latest.rawValue), runs at \(names)")
        }
        guard try call(overview.raising(to: .latest)).hasSucceeded else {
            throw Failure(description: "the format or the nodes have changed meanwhile: try again")
        }
        return (overview.format.rawValue, StoreFormat.latest.rawValue)
    }

    private func call(_ call: EtcdTransaction) throws(Failure) -> EtcdTransactionReply {
        do throws(EtcdError) { return try client.call(call, within: Self.callDuration) } catch {
            throw Failure(description: "\(error)")
        }
    }
}
