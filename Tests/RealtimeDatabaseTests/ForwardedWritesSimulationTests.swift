import HearthJSONTree
import HearthStorageErrors
import HearthTestSupport
import Testing
@testable import HearthRealtimeDatabase

/// Clients of one node, and two others that take the writes in turn, while links break, and nodes do not reach the log
/// or give the database up.
@Suite("Writes that another node makes, simulated")
struct ForwardedWritesSimulationTests {
    private struct Entry: Equatable {
        var connection: ConnectionID
        var number: Int64
    }

    private struct Link {
        var requests: [ForwardedRequest] = []
        /// Those of connections that the node has forgotten since.
        var unanswered: Set<Int64> = []
        /// Without a reply, the node has given up the requests of the connection.
        var answers: [(ForwardedRequest, Reply?, UInt64)] = []
        var turnedAway = TurnedAwayRequests()
        /// The node cannot say what became of its requests, as it does not reach the log.
        var isCutOff = false

        /// A node forgets a connection when it hears of its end. It does not do what still waits, but may have begun
        /// to do the first.
        mutating func take(_ request: ForwardedRequest, hasBegun: Bool) {
            guard case .disconnect = request.request.operation else { return requests.append(request) }
            let connection = request.request.connection
            let first = requests.first { $0.request.connection == connection }
            requests.removeAll { $0.request.connection == connection && !(hasBegun && $0.number == first?.number) }
            if hasBegun, let first { unanswered.insert(first.number) }
        }
    }

    private struct Simulation {
        var random: SeededRandom
        var writes = ForwardedWrites()
        var log: [Entry] = []
        /// The operations that the node has, and the changes of owner that it has yet to hear of.
        var applied = 0
        var owner: String? = "a"
        var known: String?? = .none
        var links: [String: Link] = ["a": Link(), "b": Link()]
        var asked: [ConnectionID: Int64] = [:]
        var answered: [Entry] = []
        var refused: [Entry] = []
        var ended: Set<ConnectionID> = []
        /// Those of them that an answer has ended.
        var endedByAnswers: [ConnectionID] = []
        /// Requests that the node is to do itself, once nothing of their connections waits at others.
        var returned: [Request] = []
        /// Connections whose clients have gone.
        var left: Set<ConnectionID> = []
        var connections: [ConnectionID]
        var time: Int64 = 0

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            connections = (0..<4).map { ConnectionID(loop: 0, kind: $0 == 3 ? .http : .realtime, serial: $0) }
        }

        mutating func take(_ work: ForwardedWrites.Work) {
            for (node, requests) in work.toSend {
                for request in requests { links[node]!.take(request, hasBegun: Bool.random(using: &random)) }
            }
            returned += work.returned
            for (request, reply) in work.answers {
                let entry = Entry(connection: request.connection, number: request.number)
                if case .failed = reply { refused.append(entry) } else { answered.append(entry) }
            }
            for connection in work.ended { ended.insert(connection) }
            returned.removeAll { ended.contains($0.connection) && !Self.isEnd($0) }
        }

        /// The node does its own requests while it takes the writes, and sends them to the next owner otherwise. What it
        /// has begun while it has yet to hear of that is not done.
        mutating func doReturned() {
            var rest: [Request] = []
            var forwarded: Set<ConnectionID> = []
            for request in returned {
                let connection = request.connection
                if forwarded.contains(connection) {
                    writes.add(request, now: time)
                } else if writes.holds(connection) || rest.contains(where: { $0.connection == connection }) {
                    rest.append(request)
                } else if known != .some("here") || Self.isEnd(request) {
                    // Together with those after it.
                    forwarded.insert(connection)
                    writes.add(request, now: time)
                } else if owner == "here" {
                    log.append(Entry(connection: connection, number: request.number))
                    answered.append(log[log.count - 1])
                } else {
                    rest.append(request)
                }
            }
            returned = rest
        }

        private static func isEnd(_ request: Request) -> Bool {
            if case .disconnect = request.operation { true } else { false }
        }

        func isReturned(_ connection: ConnectionID) -> Bool { returned.contains { $0.connection == connection } }

        /// A node does the next request that has come, or turns it away.
        mutating func serve(_ node: String) {
            guard !links[node]!.requests.isEmpty, !links[node]!.isCutOff else { return }
            let forwarded = links[node]!.requests.removeFirst()
            var reply = Reply.failed(.unavailable(.ownedElsewhere(node: nil)))
            let request = Request(
                connection: forwarded.request.connection, number: forwarded.number,
                operation: forwarded.request.operation)
            if owner != node {
                links[node]!.turnedAway.add(request)
            } else if !links[node]!.turnedAway.precede(request) {
                log.append(Entry(connection: forwarded.request.connection, number: forwarded.request.number))
                reply = .done
            }
            if links[node]!.unanswered.remove(forwarded.number) != nil { return }
            links[node]!.answers.append((forwarded, reply, UInt64(log.count)))
        }

        /// A node gives the database up. It has begun to do the requests of some connections, and turns those of others
        /// away.
        mutating func giveUp(_ node: String) {
            let requests = links[node]!.requests
            links[node]!.requests = []
            links[node]!.isCutOff = false
            var begun: [ConnectionID: Bool] = [:]
            for forwarded in requests {
                let connection = forwarded.request.connection
                if links[node]!.unanswered.remove(forwarded.number) != nil { continue }
                let isFirst = begun[connection] == nil
                let isBegun = begun[connection] ?? Bool.random(using: &random)
                begun[connection] = isBegun
                if !isBegun {
                    let reply = Reply.failed(.unavailable(.ownedElsewhere(node: nil)))
                    links[node]!.turnedAway.add(
                        Request(
                            connection: connection, number: forwarded.number, operation: forwarded.request.operation))
                    links[node]!.answers.append((forwarded, reply, 0))
                } else if isFirst {
                    links[node]!.answers.append((forwarded, nil, 0))
                }
            }
        }

        mutating func answer(_ node: String) {
            guard !links[node]!.answers.isEmpty else { return }
            let (forwarded, reply, sequence) = links[node]!.answers.removeFirst()
            let connection = forwarded.request.connection
            guard let reply else {
                writes.take(.ended(connection, node: node), now: time)
                return take(writes.takeWork(applied: UInt64(applied), now: time))
            }
            writes.take(.answered(connection, number: forwarded.number, reply, sequence: sequence), now: time)
            let work = writes.takeWork(applied: UInt64(applied), now: time)
            endedByAnswers += work.ended
            take(work)
        }

        mutating func hear() {
            guard applied == log.count, known != .some(owner) else { return }
            known = owner
            writes.ownership(owner == "here", node: owner == "here" ? nil : owner)
        }

        /// A client goes away, even if its requests are not answered. Of HTTP connections, only those with claims have
        /// an end.
        mutating func leave(_ connection: ConnectionID) {
            if connection.kind == .http || !left.insert(connection).inserted { return }
            let end = Request(connection: connection, number: 0, operation: .disconnect)
            if isReturned(connection) { returned.append(end) } else { writes.add(end, now: time) }
        }

        mutating func step() {
            time += Int64.random(in: 0...40, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<30:
                let connection = connections.randomElement(using: &random)!
                guard !ended.contains(connection), !left.contains(connection), !isReturned(connection) else { return }
                asked[connection, default: 0] += 1
                let number = asked[connection]!
                let value = IncomingValue(json: CanonicalJSON(trusted: Array("1".utf8)))
                let request = Request(
                    connection: connection, number: number, operation: .set(WriteTarget(path: "a"), value))
                if case .some("here") = known, owner == "here", !writes.holds(connection) {
                    log.append(Entry(connection: connection, number: number))
                    answered.append(log[log.count - 1])
                } else if case .some("here") = known {
                    // It waits at the node, which has yet to hear of its answers.
                    asked[connection]! -= 1
                } else {
                    writes.add(request, now: time)
                }
            case 30: leave(connections.randomElement(using: &random)!)
            case 31..<60: serve(Bool.random(using: &random) ? "a" : "b")
            case 60..<80: answer(Bool.random(using: &random) ? "a" : "b")
            case 80..<92:
                if applied < log.count { applied += Int.random(in: 1...(log.count - applied), using: &random) }
            case 92..<95: hear()
            case 95..<97 where known == .some(owner) || owner != "here":
                // An owner may lose the log because it does not reach it.
                if let owner { links[owner]?.isCutOff = Bool.random(using: &random) }
                owner = ["a", "b", nil, "here"].randomElement(using: &random)!
                if let owner { links[owner]?.isCutOff = false }
            case 97:
                let node = Bool.random(using: &random) ? "a" : "b"
                links[node] = Link()
                writes.take(.lost(node: node), now: time)
            case 98:
                let node = Bool.random(using: &random) ? "a" : "b"
                if owner != node {
                    if Bool.random(using: &random) { giveUp(node) } else { links[node]!.isCutOff.toggle() }
                }
            default: writes.tick(now: time)
            }
            doReturned()
            take(writes.takeWork(applied: UInt64(applied), now: time))
            writes.checkInvariants()
        }

        /// Lets everything come to rest. A node that is cut off stays so, if it does not own the log.
        mutating func settle() {
            owner = "a"
            links["a"]!.isCutOff = false
            for _ in 0..<1000 {
                time += 50
                applied = log.count
                hear()
                for node in ["a", "b"] {
                    serve(node)
                    answer(node)
                }
                writes.tick(now: time)
                doReturned()
                take(writes.takeWork(applied: UInt64(applied), now: time))
            }
        }
    }

    @Test("nothing is done twice or out of order, and what is answered is done", arguments: 0..<TestScale.cases(40))
    func faults(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        for step in 0..<3000 {
            simulation.step()
            for connection in simulation.connections where !simulation.ended.contains(connection) {
                let done = simulation.log.filter { $0.connection == connection }.map(\.number)
                guard zip(done, done.dropFirst()).allSatisfy({ $0 < $1 }) else {
                    Issue.record("seed \(seed), step \(step): \(done)")
                    return
                }
            }
            // A client that was told to end comes back as another connection.
            for (index, connection) in simulation.connections.enumerated()
            where simulation.ended.contains(connection) || simulation.left.contains(connection) {
                simulation.leave(connection)
                simulation.connections[index] = ConnectionID(
                    loop: 0, kind: connection.kind, serial: UInt64(100 + step * 4 + index))
            }
        }
        let current = simulation.connections.filter { !simulation.left.contains($0) }
        simulation.settle()
        #expect(simulation.endedByAnswers == [], "seed \(seed): a node did a request and turned an earlier one away")
        #expect(simulation.writes.isEmpty, "seed \(seed)")
        for connection in simulation.connections { simulation.leave(connection) }
        simulation.settle()
        #expect(simulation.writes.isUnused, "seed \(seed)")
        #expect(!simulation.answered.isEmpty, "seed \(seed)")
        for entry in simulation.answered {
            #expect(simulation.log.filter { $0 == entry }.count == 1, "seed \(seed): \(entry) was answered")
        }
        for entry in simulation.refused {
            #expect(!simulation.log.contains(entry), "seed \(seed): \(entry) was refused")
        }
        for connection in current where !simulation.ended.contains(connection) {
            let answers = simulation.answered.filter { $0.connection == connection }.map(\.number)
            let others = simulation.refused.filter { $0.connection == connection }.count
            #expect(answers.count + others == simulation.asked[connection] ?? 0, "seed \(seed)")
            #expect(answers == answers.sorted(), "seed \(seed): answers out of order")
        }
    }
}
