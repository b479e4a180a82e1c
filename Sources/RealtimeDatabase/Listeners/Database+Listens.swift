package import HearthJSONTree

extension Database {
    /// Something that a connection listens to.
    package struct Listen: Sendable {
        package var path: Path
        /// The text of a query object; nil for the whole value.
        package var query: [UInt8]?
    }

    /// The listens of a connection, in path order. O(listeners of the connection).
    package func listens(of connection: ConnectionID) -> [Listen] {
        guard let session = listeners.sessions[connection] else { return [] }
        let queries = session.queries.sorted { $0.key < $1.key }
            .map { Listen(path: $0.value.live.path, query: $0.value.text) }
        return (session.paths.map { Listen(path: $0) } + queries).sorted { $0.path < $1.path }
    }

    /// Whether a request asks for a listener in the place of one that its connection has.
    package func replacesListener(_ request: Request) -> Bool {
        guard let session = listeners.sessions[request.connection] else { return false }
        return switch request.operation {
        case .listen(let path, _, _, _): session.contains(path)
        case .listenQuery(_, _, let form, _, _, _): session.queries[form.name] != nil
        default: false
        }
    }

    /// Of all connections. O(connections).
    package var listenCount: Int { listeners.count }
}
