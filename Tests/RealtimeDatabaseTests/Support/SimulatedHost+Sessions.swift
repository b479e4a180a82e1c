import HearthDatabaseScheduler
import HearthDelivery
import HearthJSONTree
import HearthStorageErrors
import HearthRealtimeDatabase

/// Between clients and the database: sessions, which read requests in order, and the groups that are told of changes.
extension SimulatedHost {
    // MARK: Requests

    /// A client connects; with `keepsData` one that was connected before and has what it was told then.
    func connect(loop: Int, serial: UInt64, keepsData: Bool) {
        let connection = ConnectionID(loop: loop, kind: .realtime, serial: serial)
        process.clients[connection] = SimulatedClient(
            connection: connection, kept: keepsData ? lastSeen : nil, resumes: serial.isMultiple(of: 2))
        process.sessions[connection] = SimulatedSession(
            countMax: sizes.requestsMax, parsedBesideBytesMin: sizes.parsedBesideBytesMin)
    }

    func disconnect(_ connection: ConnectionID) {
        guard let request = process.clients[connection]?.request(.disconnect) else { return }
        lastSeen = process.clients[connection]?.kept
        process.clients[connection] = nil
        for group in process.groups.keys { process.groups[group]?.remove(connection) }
        if process.sessions[connection]?.end() == false {
            process.endings[connection] = request
        } else {
            process.sessions[connection] = nil
            process.outbox.append(request)
            handOver()
        }
    }

    /// Clients send requests, which arrive together.
    func send(_ requests: [Request]) {
        requestCount += requests.count
        var asks: [SimulatedSession.Ask] = []
        for request in requests { process.sessions[request.connection]?.receive([request]) }
        for connection in process.sessions.keys.sorted(by: { $0.raw < $1.raw }) {
            asks += process.sessions[connection]?.read() ?? []
        }
        submit(asks)
        handOver()
    }

    /// Does what sessions ask. The requests come with the loop's next turn.
    private func submit(_ asks: [SimulatedSession.Ask]) {
        for ask in asks {
            switch ask {
            case .submit(let request): process.outbox.append(request)
            case .parse(let request), .identify(let request): process.beside.append(request)
            }
        }
    }

    /// The database gets the requests of a turn of the event loops.
    func handOver() {
        let requests = process.outbox
        process.outbox = []
        if !requests.isEmpty { handle(.requests(requests)) }
    }

    /// A large message is parsed, or it is known who a client is.
    func finishBeside() {
        guard !process.beside.isEmpty else { return }
        let request = process.beside.removeFirst()
        let connection = request.connection
        submit(process.sessions[connection]?.finish(request) ?? [])
        if let ending = process.endings.removeValue(forKey: connection) {
            process.sessions[connection] = nil
            process.outbox.append(ending)
        }
        handOver()
    }

    /// A client does not read for a while, or continues.
    func setWritable(_ connection: ConnectionID, _ isWritable: Bool) {
        submit(process.sessions[connection]?.setWritable(isWritable) ?? [])
    }

    /// A large read ends; its connection says so if that ends a listener.
    func end(_ read: SnapshotRead, _ value: CanonicalJSON?, _ error: StorageError?) {
        model.streamed(read, value)
        guard let (ended, asks) = process.sessions[read.connection]?.end(read, value, error) else { return }
        for end in ended {
            process.clients[read.connection]?.receive(end.value, of: end.read, error: end.error)
            if end.error != nil, case .listen = end.read.purpose {
                let drop = Request(
                    connection: read.connection, number: end.read.number, operation: .dropListener(end.read.path))
                process.outbox.append(drop)
            }
            for output in end.behind { process.clients[read.connection]?.receive(output) }
        }
        submit(asks)
    }

    // MARK: Deliveries

    func deliver(_ output: Output) {
        process.hasDelivered = true
        switch output {
        case .push(_, _, let addresses):
            for address in addresses { push(output, to: address) }
        case .pushQuery(_, let address): push(output, to: address)
        case .hold(let connection): expect(!connection.isForwarded, "pushes to another node's session wait")
        case .join(let group, let connection):
            if process.clients[connection] != nil { process.groups[group, default: []].insert(connection) }
        case .leave(let group, let connection): process.groups[group]?.remove(connection)
        case .initial(let connection, _, _, _), .missed(let connection, _, _), .initialQuery(let connection, _),
            .revoked(let connection, _, _, _), .initialParts(let connection, _, _, _):
            send(output, to: connection)
        case .stream(let read):
            process.reads[read.id] = read
            process.sessions[read.connection]?.begin(read)
        case .reply(let connection, let number, let reply):
            let isTurnedAway = process.turnedAway.contains(connection)
            expect(!isTurnedAway, "\(number) is answered, and an earlier request was turned away")
            model.answered(connection, number, reply, durableSequence: log.last)
            if case .listeningAt(_, recovered: true, _) = reply { resumeCount += 1 }
            send(output, to: connection)
        }
    }

    private func push(_ output: Output, to address: GroupAddress) {
        for connection in (process.groups[address.group] ?? []).sorted(by: { $0.raw < $1.raw }) {
            expect(address.loops >> UInt64(connection.loop) & 1 == 1, "a loop with members is left out")
            send(output, to: connection)
        }
    }

    private func send(_ output: Output, to connection: ConnectionID) {
        guard let (outputs, asks) = process.sessions[connection]?.send(output) else { return }
        for output in outputs { process.clients[connection]?.receive(output) }
        submit(asks)
    }
}
