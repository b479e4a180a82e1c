import HearthStorageErrors

/// A write of a client of this node, for the node that takes the writes of the database.
package struct ForwardedRequest: Sendable {
    /// Names the request in its answer. Numbers of one database are never used again while the process runs.
    package var number: Int64
    package var request: Request

    package init(number: Int64, request: Request) {
        self.number = number
        self.request = request
    }
}

/// News of requests that were sent to another node.
package enum ForwardingNews: Sendable {
    /// The other node has answered. The answer is true as of the operation `sequence`.
    case answered(ConnectionID, number: Int64, Reply, sequence: UInt64)
    /// The other node owes a connection nothing any more, although the connection has not ended. It answers no request
    /// that the connection has made before, and the outcome of these is unknown.
    case ended(ConnectionID, node: String)
    /// The link to a node is permanently lost. The outcome of unanswered requests is unknown.
    case lost(node: String)
}

extension Reply {
    /// Whether the node that was asked does not take the writes of the database, and so has not done the request.
    var isTurningAway: Bool {
        if case .failed(.unavailable(.ownedElsewhere)) = self { true } else { false }
    }
}

extension Array where Element == (node: String, requests: [ForwardedRequest]) {
    /// Requests keep their order for each node. After a move, each connection has some for two nodes.
    mutating func add(_ request: ForwardedRequest, to node: String) {
        if let index = firstIndex(where: { $0.node == node }) {
            self[index].requests.append(request)
        } else {
            append((node, [request]))
        }
    }
}
