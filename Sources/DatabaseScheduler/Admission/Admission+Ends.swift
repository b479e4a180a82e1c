package import HearthRealtimeDatabase

/// Requests of connections that end.
extension Admission {
    /// Requests that wait end a connection, or make it somebody else's. O(its requests that wait).
    package func isChanging(_ connection: ConnectionID) -> Bool {
        guard let line = lines[connection] else { return false }
        return line.entries.contains { entry in
            switch entry.request.operation {
            case .disconnect, .become: true
            default: false
            }
        }
    }

    /// The client has disconnected: its writes are still made, but its reads are dropped.
    mutating func drop(of connection: ConnectionID, _ gate: some AdmissionGate) {
        if connection.isForwarded { return dropAll(of: connection, gate) }
        guard let line = lines[connection] else { return }
        switch line.wait {
        case .turn, .preparation: return
        case .scan: gate.endScan(for: connection)
        case .history, .release: break
        }
        remove(from: line) { $0.request.operation.asksData }
        advance(connection, line, gate)
    }

    /// A connection of another node has ended: nothing is done for it any more, but a request whose preparation is
    /// under way.
    ///
    /// That node says that a connection ends when it waits for no answer but those of claims, which nobody needs then
    /// (``ForwardedWrites``). So if others wait here, the link has ended, and the outcome is unknown there: the client
    /// may have sent them again, and later writes as well, which these would overwrite.
    private mutating func dropAll(of connection: ConnectionID, _ gate: some AdmissionGate) {
        guard let line = lines[connection] else { return }
        var isPreparing = false
        switch line.wait {
        case .turn: leaveTurn(connection, line)
        case .preparation: isPreparing = true
        case .scan: gate.endScan(for: connection)
        case .history, .release: break
        }
        var isKept = isPreparing
        remove(from: line) { entry in
            defer { isKept = false }
            return !isKept && !entry.request.operation.isOfEnd
        }
        if !isPreparing { advance(connection, line, gate) }
    }

    private mutating func remove(from line: Line, where isUnwanted: (Entry) -> Bool) {
        count -= line.entries.count
        line.entries.removeAll(where: isUnwanted)
        count += line.entries.count
    }

    /// Requests were put back. Those of other nodes' connections that have ended meanwhile, or in the same turn, are
    /// dropped. An end that was put back alone goes on waiting.
    mutating func dropEnded(of requests: ArraySlice<Request>, _ gate: some AdmissionGate) {
        var last: ConnectionID?
        for request in requests where request.connection.isForwarded && request.connection != last {
            last = request.connection
            if isOvertaken(request.connection) { dropAll(of: request.connection, gate) }
        }
    }

    /// Its end waits, and requests that are not to be done any more.
    private func isOvertaken(_ connection: ConnectionID) -> Bool {
        guard let line = lines[connection] else { return false }
        return line.entries.contains { if case .disconnect = $0.request.operation { true } else { false } }
            && line.entries.contains { !$0.request.operation.isOfEnd }
    }
}
