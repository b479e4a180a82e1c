import HearthStorageErrors

/// The writes of this node's clients that another node makes, from their turn here until their answers.
///
/// A connection has a line while it waits for such an answer, and its other requests wait until the line is empty. So
/// its requests take effect in order, and it reads its own writes: an answer leaves the line once this node has applied
/// the operation as of which it is true.
///
/// A request is sent to one node at a time. A node that does not take the writes of the database turns it away, and it
/// is sent to the next owner, after all that came before it on its connection. When the link to a node is lost, the
/// outcome of its requests is unknown: their connections end without an answer, and clients send them again. So they do
/// when the node gives the requests up, and when it does not answer although another one has taken over the writes: a
/// node that cannot reach the log cannot say what became of its last append.
///
/// The end of a connection is sent once its requests are answered: the node that has them forgets the connection with
/// it, and could answer them no more.
///
/// A pure value: time is handed in, in milliseconds of a clock that is not set.
package struct ForwardedWrites {
    /// The work to do. ``takeWork(applied:now:)`` returns it in order.
    package struct Work {
        package var toSend: [(node: String, requests: [ForwardedRequest])] = []
        /// Answers to clients.
        package var answers: [(request: Request, reply: Reply)] = []
        /// Connections that end without an answer.
        package var ended: [ConnectionID] = []
        /// Requests that this node does itself: it takes the writes now.
        package var returned: [Request] = []
        /// Connections that have no line any more.
        package var released: [ConnectionID] = []

        package var isEmpty: Bool {
            toSend.isEmpty && answers.isEmpty && ended.isEmpty && returned.isEmpty && released.isEmpty
        }
    }

    private struct Entry {
        var number: Int64
        var request: Request
        /// When it came.
        var since: Int64
    }

    private struct Line {
        var waiting: [Entry] = []
        /// Those that `node` has, and has not answered, in order.
        var sent: [Entry] = []
        var node: String?
        /// Since when another node is known to take the writes, and `node` has not answered; nil if it has or does.
        var leftBehindSince: Int64?
        /// Those that the node has turned away. They are sent again after it has answered all others.
        var turnedAway: [Entry] = []
        /// Until then nothing is sent again.
        var pausedUntil = Int64.min
        /// How long the next pause is, in milliseconds.
        var pause = ForwardedWrites.pauseMin
        /// Answers that are not given yet.
        var answers = 0
        /// The connection has ended: its requests for jobs end.
        var hasEnded = false
        var isQueued = false

        var isEmpty: Bool { waiting.isEmpty && sent.isEmpty && turnedAway.isEmpty && answers == 0 }
    }

    private struct Answer {
        var sequence: UInt64
        var request: Request
        var reply: Reply
        var since: Int64
    }

    private enum Owner: Equatable {
        case here
        case elsewhere(String?)
    }

    /// Bytes of requests that other nodes have and have not answered; a larger one goes alone.
    package static let sentBytesMax = 16 << 20
    /// A request that no node accepts for this time is refused, in milliseconds.
    package static let patience: Int64 = 10_000
    /// So long a node has to answer once another one takes the writes, in milliseconds. It does so at once if it can.
    package static let leftBehindPatience: Int64 = 5000
    /// So long this node may take to apply what an answer depends on.
    package static let answerPatience: Int64 = 30_000
    /// Between two attempts to send a request to a node that has turned it away, in milliseconds: longer each time. A
    /// node may hear later than others that it takes the writes.
    package static let pauseMin: Int64 = 10
    package static let pauseMax: Int64 = 160

    private var owner = Owner.elsewhere(nil)
    private var lines: [ConnectionID: Line] = [:]
    /// Lines with requests to send, in order.
    private var queue: [ConnectionID] = []
    /// In the order in which they came.
    private var answers: [Answer] = []
    /// Which node knows of a realtime connection, and has to hear of its end.
    private var known: [ConnectionID: String] = [:]
    /// Connections that may be owed writes by the node that knows of them.
    private var creditors: Set<ConnectionID> = []
    /// Realtime connections that were told to end: their later requests are ignored.
    private var ending: Set<ConnectionID> = []
    /// When a line that was turned away is tried again.
    package private(set) var nextAttempt: Int64?
    private var sentBytes = 0
    private var lastNumber: Int64
    private var isStopping = false
    private var work = Work()

    /// - parameter number: of the last request before, if there was one.
    package init(after number: Int64 = 0) { lastNumber = number }

    /// Whether requests of a connection wait for an answer.
    package func holds(_ connection: ConnectionID) -> Bool { lines[connection] != nil }

    /// Nothing waits.
    package var isEmpty: Bool { lines.isEmpty }

    /// The same, and no other node owes a write to a connection of this one.
    package var isUnused: Bool { lines.isEmpty && creditors.isEmpty && ending.isEmpty }

    /// Takes the next request of a connection.
    package mutating func add(_ request: Request, now: Int64) {
        let connection = request.connection
        if request.isEnd, ending.remove(connection) != nil { creditors.remove(connection) }
        if request.isEnd, lines[connection] == nil {
            return tellEnd(of: connection)
        }
        switch request.operation {
        case .forfeit where !creditors.contains(connection) && lines[connection] == nil: return
        default: break
        }
        if ending.contains(connection) { return }
        if isStopping {
            // A realtime client asks the next server; others are told.
            if connection.kind == .http { work.answers.append((request, .failed(.unavailable(.stopping)))) }
            return
        }
        lastNumber += 1
        lines[connection, default: Line()].waiting.append(Entry(number: lastNumber, request: request, since: now))
        if request.isEnd { lines[connection]?.hasEnded = true }
        enqueue(connection)
    }

    /// A node that knows a connection forgets it, also if it takes the writes no more.
    private mutating func tellEnd(of connection: ConnectionID) {
        creditors.remove(connection)
        guard let node = known.removeValue(forKey: connection) else { return }
        work.toSend.append((node, [end(of: connection)]))
    }

    private mutating func end(of connection: ConnectionID) -> ForwardedRequest {
        lastNumber += 1
        return ForwardedRequest(
            number: lastNumber, request: Request(connection: connection, number: 0, operation: .disconnect))
    }

    // MARK: News

    /// Which node takes the writes; nil if none does. Requests that were not sent are returned if it is this one.
    package mutating func ownership(_ isHere: Bool, node: String?) {
        let new = isHere ? Owner.here : .elsewhere(node)
        if new == owner { return }
        owner = new
        // The next owner makes the writes that are owed to connections of others, as it cannot know them.
        if isHere || node != nil { endCreditors { $0 != node } }
        for connection in lines.keys.sorted(by: { $0.raw < $1.raw }) {
            lines[connection]?.pausedUntil = .min
            lines[connection]?.pause = Self.pauseMin
            enqueue(connection)
        }
    }

    package mutating func take(_ news: ForwardingNews, now: Int64) {
        switch news {
        case .answered(let connection, let number, let reply, let sequence):
            answered(connection, number, reply, sequence, now: now)
        case .ended(let connection, let node):
            let line = lines[connection]
            let isGivenUp = line?.node == node && line?.sent.isEmpty == false
            if isGivenUp || creditors.contains(connection) { end(connection) }
        case .lost(let node):
            let concerned = creditors.filter { known[$0] == node }
                .union(lines.filter { $0.value.node == node && !$0.value.sent.isEmpty }.keys)
            known = known.filter { $0.value != node }
            for connection in concerned.sorted(by: { $0.raw < $1.raw }) { end(connection) }
        }
    }

    private mutating func endCreditors(where isConcerned: (String?) -> Bool) {
        for connection in creditors.sorted(by: { $0.raw < $1.raw }) where isConcerned(known[connection]) {
            end(connection)
        }
    }

    private mutating func answered(
        _ connection: ConnectionID, _ number: Int64, _ reply: Reply, _ sequence: UInt64, now: Int64
    ) {
        guard var line = lines[connection], let place = line.sent.firstIndex(where: { $0.number == number }) else {
            return
        }
        let entry = line.sent.remove(at: place)
        sentBytes -= entry.request.weight
        if reply.isTurningAway {
            line.turnedAway.append(entry)
            // Another owner is asked at once.
            if owner == .elsewhere(line.node), now >= line.pausedUntil {
                line.pausedUntil = now + line.pause
                line.pause = min(2 * line.pause, Self.pauseMax)
                nextAttempt = min(nextAttempt ?? .max, line.pausedUntil)
            }
        } else if line.turnedAway.contains(where: { $0.number < number }) {
            // The node has done a later request and not an earlier one.
            lines[connection] = line
            return end(connection)
        } else {
            line.answers += 1
            answers.append(Answer(sequence: sequence, request: entry.request, reply: reply, since: now))
        }
        if line.sent.isEmpty, !line.turnedAway.isEmpty {
            line.waiting = line.turnedAway.sorted { $0.number < $1.number } + line.waiting
            line.turnedAway = []
        }
        lines[connection] = line
        enqueue(connection)
    }

    /// The connection ends without an answer: the outcome of its requests is unknown, or it relies on writes that are
    /// no longer owed to it.
    private mutating func end(_ connection: ConnectionID) {
        let hasEnded = lines[connection]?.hasEnded == true
        drop(connection)
        creditors.remove(connection)
        if hasEnded {
            tellEnd(of: connection)
        } else if connection.kind == .realtime {
            ending.insert(connection)
        }
        work.ended.append(connection)
    }

    private mutating func drop(_ connection: ConnectionID) {
        guard let line = lines.removeValue(forKey: connection) else { return }
        if line.isQueued { queue.removeAll { $0 == connection } }
        for entry in line.sent { sentBytes -= entry.request.weight }
        if line.answers > 0 { answers.removeAll { $0.request.connection == connection } }
        work.released.append(connection)
    }

    /// Time has passed.
    package mutating func tick(now: Int64) {
        let node: String? = if case .elsewhere(let node) = owner { node } else { nil }
        let error = StorageError.ownedElsewhere(node: node)
        for connection in lines.keys.sorted(by: { $0.raw < $1.raw }) {
            enqueue(connection)
            if isOverdue(connection, now: now) {
                end(connection)
                continue
            }
            // Answers come in order.
            while let line = lines[connection], let entry = line.waiting.first, now - entry.since >= Self.patience,
                line.sent.isEmpty, line.turnedAway.isEmpty, line.answers == 0
            {
                lines[connection]?.waiting.removeFirst()
                if entry.request.isAnswered {
                    work.answers.append((entry.request, .failed(.unavailable(error))))
                } else if entry.request.isEnd {
                    tellEnd(of: connection)
                } else if let node = known[connection] {
                    // A forfeit, before the end that makes the writes.
                    work.toSend.append((node, [ForwardedRequest(number: entry.number, request: entry.request)]))
                }
            }
            endIfEmpty(connection)
        }
        // A connection may have several.
        for answer in answers where now - answer.since >= Self.answerPatience && holds(answer.request.connection) {
            end(answer.request.connection)
        }
    }

    /// Whether the node that has requests of a connection has not answered them for too long since another one took the
    /// writes over. Time passes also while it is not known which node that is.
    private mutating func isOverdue(_ connection: ConnectionID, now: Int64) -> Bool {
        guard let line = lines[connection], !line.sent.isEmpty, owner != .elsewhere(line.node) else {
            lines[connection]?.leftBehindSince = nil
            return false
        }
        guard let since = line.leftBehindSince else {
            if owner != .elsewhere(nil) { lines[connection]?.leftBehindSince = now }
            return false
        }
        return owner != .elsewhere(nil) && now - since >= Self.leftBehindPatience
    }

    /// The process ends: nothing more is sent. Sent requests are still answered.
    package mutating func stop() {
        if isStopping { return }
        isStopping = true
        for connection in lines.keys.sorted(by: { $0.raw < $1.raw }) {
            for entry in lines[connection]?.waiting ?? [] where connection.kind == .http {
                work.answers.append((entry.request, .failed(.unavailable(.stopping))))
            }
            lines[connection]?.waiting = []
            endIfEmpty(connection)
        }
    }

    /// Answers are no longer needed.
    package mutating func giveUp() { for connection in lines.keys.sorted(by: { $0.raw < $1.raw }) { end(connection) } }

    /// All connections end at once, and nothing is sent any more but that.
    ///
    /// - returns: the ends of connections, for the nodes that know these.
    package mutating func endAll() -> [(node: String, requests: [ForwardedRequest])] {
        for connection in known.keys.sorted(by: { $0.raw < $1.raw }) { tellEnd(of: connection) }
        defer { work.toSend = [] }
        return work.toSend
    }

    // MARK: Work

    private mutating func enqueue(_ connection: ConnectionID) {
        guard let line = lines[connection], !line.isQueued, !line.waiting.isEmpty else { return }
        lines[connection]?.isQueued = true
        queue.append(connection)
    }

    /// - parameter applied: the last operation that this node has applied.
    package mutating func takeWork(applied: UInt64, now: Int64) -> Work {
        if let attempt = nextAttempt, now >= attempt {
            // Those that are paused for longer say so again.
            nextAttempt = queue.compactMap { lines[$0]?.pausedUntil }.filter { $0 > now }.min()
        }
        if !answers.isEmpty { answer(through: applied) }
        if !queue.isEmpty { send(now: now) }
        if work.isEmpty { return Work() }
        defer { work = Work() }
        return work
    }

    private mutating func answer(through applied: UInt64) {
        // An answer of a connection comes after those before it, as its sequence number is not smaller.
        guard answers.contains(where: { $0.sequence <= applied }) else { return }
        var rest: [Answer] = []
        for answer in answers {
            guard answer.sequence <= applied else {
                rest.append(answer)
                continue
            }
            let hasEnded = lines[answer.request.connection]?.hasEnded == true
            // Or it would be kept until there is a job.
            if !hasEnded || !answer.request.operation.mayWait { work.answers.append((answer.request, answer.reply)) }
            lines[answer.request.connection]?.answers -= 1
            endIfEmpty(answer.request.connection)
        }
        answers = rest
    }

    private mutating func endIfEmpty(_ connection: ConnectionID) {
        guard let line = lines[connection], line.isEmpty else { return }
        lines[connection] = nil
        if line.isQueued { queue.removeAll { $0 == connection } }
        work.released.append(connection)
    }

    private mutating func send(now: Int64) {
        if case .elsewhere(nil) = owner { return }
        var batches: [(node: String, requests: [ForwardedRequest])] = []
        var rest: [ConnectionID] = []
        // Those behind a request for which there is no room wait with it, or there might never be.
        var isFull = false
        for connection in queue {
            if isFull {
                rest.append(connection)
                continue
            }
            guard var line = lines[connection] else { continue }
            line.isQueued = false
            switch owner {
            case .here: returnAll(of: &line)
            case .elsewhere(let node?): isFull = !send(connection, &line, to: node, now: now, &batches)
            case .elsewhere(nil): break
            }
            if !line.waiting.isEmpty {
                line.isQueued = true
                rest.append(connection)
            }
            lines[connection] = line
            endIfEmpty(connection)
        }
        queue = rest
        work.toSend += batches
    }

    /// This node takes the writes. Requests that another one has not answered come first. An end comes back too,
    /// although it was noted here when it came: it has to follow the on-disconnect writes that come back before it.
    private mutating func returnAll(of line: inout Line) {
        guard line.sent.isEmpty else { return }
        for entry in line.waiting {
            if entry.request.isEnd { tellEnd(of: entry.request.connection) }
            if line.hasEnded, entry.request.operation.mayWait { continue }
            work.returned.append(entry.request)
        }
        line.waiting = []
    }

    /// - returns: false if there is no room for a request.
    private mutating func send(
        _ connection: ConnectionID, _ line: inout Line, to node: String, now: Int64,
        _ batches: inout [(node: String, requests: [ForwardedRequest])]
    ) -> Bool {
        guard now >= line.pausedUntil, line.turnedAway.isEmpty, line.sent.isEmpty || line.node == node else {
            return true
        }
        if line.node != node { line.leftBehindSince = nil }
        line.node = node
        var count = 0
        var hasRoom = true
        for entry in line.waiting {
            let weight = entry.request.weight
            hasRoom = sentBytes == 0 || sentBytes + weight <= Self.sentBytesMax
            if !hasRoom { break }
            if entry.request.isEnd, mustWaitToEnd(&line) { break }
            count += 1
            // The node that knows the connection may have lost the log.
            let before = known[connection] ?? node
            if before != node, !entry.request.isEnd { batches.add(end(of: connection), to: before) }
            let node = entry.request.isEnd ? before : node
            batches.add(ForwardedRequest(number: entry.number, request: entry.request), to: node)
            note(entry.request, sentTo: node)
            guard entry.request.isAnswered else { continue }
            sentBytes += weight
            line.sent.append(entry)
        }
        line.waiting.removeFirst(count)
        return hasRoom
    }

    /// Whether the end of a connection waits for answers. Nobody is left to do jobs, and the end frees those that the
    /// node has handed out: their answers are not needed.
    private mutating func mustWaitToEnd(_ line: inout Line) -> Bool {
        guard line.sent.allSatisfy(\.request.operation.mayWait) else { return true }
        for entry in line.sent { sentBytes -= entry.request.weight }
        line.sent = []
        return false
    }

    private mutating func note(_ request: Request, sentTo node: String) {
        guard request.connection.kind == .realtime else { return }
        switch request.operation {
        case .disconnect:
            known[request.connection] = nil
            creditors.remove(request.connection)
        case .onDisconnect:
            known[request.connection] = node
            creditors.insert(request.connection)
        default: known[request.connection] = node
        }
    }

    /// Traps if the parts of the state contradict each other.
    package func checkInvariants() {
        var bytes = 0
        var held: [ConnectionID: Int] = [:]
        for answer in answers { held[answer.request.connection, default: 0] += 1 }
        for (connection, line) in lines {
            precondition(!line.isEmpty, "a line is empty")
            precondition(line.answers == held[connection] ?? 0, "the count of answers is wrong")
            precondition(line.isQueued == queue.contains(connection), "a line is queued or not")
            precondition(line.waiting.isEmpty || line.isQueued, "a line with requests is forgotten")
            bytes += line.sent.reduce(0) { $0 + $1.request.weight }
        }
        precondition(Set(queue).count == queue.count, "a line is queued twice")
        precondition(bytes == sentBytes, "the bytes of what was sent are counted wrong")
    }
}

extension Request {
    /// Whether its client is told what came of it.
    var isAnswered: Bool {
        switch operation {
        case .forfeit, .disconnect: false
        default: true
        }
    }

    fileprivate var isEnd: Bool { if case .disconnect = operation { true } else { false } }

    /// Bytes, about.
    fileprivate var weight: Int { byteCount + 200 }
}
