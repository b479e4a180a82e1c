import HearthDatabaseScheduler
import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors
import HearthTestSupport
import Testing

/// Clients of the owner and of other nodes, whose links are full now and then, and end.
@Suite("Nodes that take their answers too slowly, simulated")
struct FullLinkSimulationTests {
    private struct Client {
        let connection: ConnectionID
        var asked: Int64 = 0
        var answered: Int64 = 0
        /// The number of the request for an on-disconnect write.
        var registration: Int64?
        var isOwed = false
        var hasEnded = false
        /// Requests that the log has.
        var done: [Int64] = []
        var endCount = 0
    }

    private struct Simulation: ~Copyable {
        var random: SeededRandom
        var bench = SharedLogBench()
        var clients: [Client] = []
        var failure: String?
        private var lastSerial: UInt64 = 0
        private var lastRecord: UInt64 = 0
        private static let links = 3

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            bench.handle(.arrived([.ownership(.owner)]))
            for link in 0..<Self.links { for _ in 0..<2 { connect(link) } }
            for _ in 0..<2 { connect(nil) }
        }

        private mutating func connect(_ link: Int?) {
            lastSerial += 1
            let kind: ConnectionID.Kind = Bool.random(using: &random) ? .realtime : .http
            clients.append(
                Client(
                    connection: link.map { ConnectionID(forwarded: kind, link: $0, serial: lastSerial) }
                        ?? ConnectionID(loop: 0, kind: kind, serial: lastSerial)))
        }

        private mutating func request(of client: Int) -> Request {
            clients[client].asked += 1
            let number = clients[client].asked
            var operation = Operation.set(Path(stringLiteral: "c/\(client)"), CanonicalJSON(integer: number))
            if clients[client].registration == nil, Int.random(in: 0..<4, using: &random) == 0 {
                clients[client].registration = number
                let target = WriteTarget(path: Path(stringLiteral: "end/\(client)"))
                operation = .onDisconnect([(target, IncomingValue(json: "1"))])
            }
            return Request(connection: clients[client].connection, number: number, operation: operation)
        }

        private mutating func end(_ client: Int) -> Request {
            clients[client].hasEnded = true
            return Request(connection: clients[client].connection, number: 0, operation: .disconnect)
        }

        mutating func step() {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<50:
                var requests: [Request] = []
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let client = clients.indices.randomElement(using: &random)!
                    if clients[client].hasEnded { continue }
                    requests.append(request(of: client))
                    if Int.random(in: 0..<40, using: &random) == 0 { requests.append(end(client)) }
                }
                handle(.requests(requests))
            case 50..<75: handle(.committed(through: lastRecord))
            case 75..<85:
                let link = Int.random(in: 0..<Self.links, using: &random)
                if bench.fullLinks.word >> UInt64(link) & 1 == 0 {
                    bench.fullLinks.insert(link)
                } else {
                    bench.fullLinks.remove(link)
                }
                if Bool.random(using: &random) { handle(.delivered) }
            case 85..<88: endLink(Int.random(in: 0..<Self.links, using: &random))
            case 88..<92: bench.isCertain = Bool.random(using: &random)
            default: handle(.tick(1))
            }
        }

        /// Its node begins another one.
        private mutating func endLink(_ link: Int) {
            let concerned = clients.indices.filter {
                !clients[$0].hasEnded && clients[$0].connection.isForwarded && clients[$0].connection.link == link
            }
            let waited = concerned.filter { clients[$0].answered < clients[$0].asked }
            for client in concerned { handle(.requests([end(client)])) }
            bench.fullLinks.remove(link)
            let done = waited.map { clients[$0].done.count }
            handle(.delivered)
            if done != waited.map({ clients[$0].done.count }) {
                failure = failure ?? "a write is made after the end of its link"
            }
            for _ in 0..<2 { connect(link) }
        }

        private mutating func handle(_ event: Event) {
            bench.handle(event)
            for record in bench.appended {
                lastRecord = record.lastSequence
                for operation in (try? record.operations()) ?? [] {
                    for assignment in operation.assignments { note(assignment) }
                }
            }
            for case .deliver(let turns) in bench.actions {
                for case .reply(let connection, let number, let reply) in turns.joined() {
                    answered(connection, number, reply)
                }
            }
            for client in clients.indices where clients[client].done != clients[client].done.sorted() {
                failure = failure ?? "the writes of client \(client) are not made in order"
            }
        }

        private mutating func note(_ assignment: Assignment) {
            let words = "\(assignment.target.path)".split(separator: "/")
            guard words.count == 2, let client = Int(words[1]) else { return failure = "\(assignment)" }
            guard words[0] == "c" else { return clients[client].endCount += 1 }
            guard let number = Int64("\(assignment.value)") else { return failure = "\(assignment)" }
            clients[client].done.append(number)
            if bench.fullLinks.contains(clients[client].connection) {
                failure = failure ?? "a write of client \(client) is made, and its link is full"
            }
        }

        private mutating func answered(_ connection: ConnectionID, _ number: Int64, _ reply: Reply) {
            guard let client = clients.firstIndex(where: { $0.connection == connection }) else { return }
            if number != clients[client].answered + 1 {
                failure = failure ?? "client \(client) has no answer before \(number)"
            }
            clients[client].answered = number
            if clients[client].registration == number, !clients[client].hasEnded { clients[client].isOwed = true }
        }

        mutating func settle() {
            bench.fullLinks = LinkSet()
            bench.isCertain = true
            handle(.tick(1))
            handle(.committed(through: lastRecord))
            handle(.delivered)
            handle(.committed(through: lastRecord))
            if bench.waitingCount != 0 { failure = failure ?? "requests wait, and nobody goes on" }
            for (index, client) in clients.enumerated() {
                if !client.hasEnded, client.answered != client.asked {
                    failure = failure ?? "client \(index) has no answer to \(client.asked)"
                }
                if client.endCount != 1, client.isOwed, client.hasEnded {
                    failure = failure ?? "what client \(index) is owed is made \(client.endCount) times"
                }
            }
        }
    }

    @Test(
        "do nothing out of order, keep nobody else waiting, and have nothing done after their links have ended",
        arguments: 0..<TestScale.cases(40))
    func links(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        for step in 0..<1000 {
            simulation.step()
            if let failure = simulation.failure {
                Issue.record("seed \(seed), step \(step): \(failure)")
                return
            }
        }
        simulation.settle()
        let (failure, clients) = (simulation.failure, simulation.clients)
        #expect(failure == nil, "seed \(seed)")
        #expect(clients.contains { !$0.done.isEmpty })
    }
}
