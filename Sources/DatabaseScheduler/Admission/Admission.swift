import HearthJSONTree
package import HearthRealtimeDatabase

/// All requests that cannot be processed yet.
///
/// Each connection has one line, and its requests leave the line only from the front. Therefore the requests of a
/// connection are processed in order, also if they wait for different things.
///
/// The first request of a line waits for one thing at a time: for the history that a listener needs to resume, for the
/// scan of a query, for the end of a large read, or for its turn. Small requests of all connections share a turn; the
/// clients that have had the least time go first (``TimeShares``). A large request lets the small ones go first, and
/// one at a time is prepared. One that takes a long turn waits for the time of that (``LongTurns``).
package struct Admission: ~Copyable {
    enum Wait {
        /// For the log to be read.
        case history
        /// For the scan of a query.
        case scan
        /// Until something else lets it go on: the end of a large read, another node's answer, the turn of a large
        /// write that has read something here, a change of the log's owner, or room for its answer.
        case release
        /// For its turn: the connection is in `small`, `large` or `long`.
        case turn(Turn)
        /// A large request: the rows of its value are being made, or its text is being stored.
        case preparation
    }

    enum Turn { case small, large, long }

    struct Entry {
        var request: Request
        /// The question to the log that is not answered yet.
        var question: UInt64?
        /// How often its scan did not hold any more when its turn came.
        var rescans = 0
        /// It takes a long turn, as is known once it was begun.
        var isLong = false
    }

    /// Never empty while it is one of the lines. An object, so that it is looked up once for each step.
    final class Line {
        var entries = Queue<Entry>()
        var wait: Wait

        init(_ wait: Wait = .release) { self.wait = wait }
    }

    var lines: [ConnectionID: Line] = [:]
    /// Connections whose first request waits for its turn. The next one is that of the client that has had the least
    /// time of late.
    private var small = FairLine()
    private var large = FairLine()
    private var long = FairLine()
    private var shares = TimeShares()
    /// The connection whose first request, a large one, is being prepared.
    private var begun: ConnectionID?

    private var questions = HistoryQuestions()
    /// Requests that wait.
    package internal(set) var count = 0

    /// Bytes of values from which a request is large.
    private let largeBytesMin: Int

    package init(largeBytesMin: Int = DatabaseLimits().largeRequestBytesMin) { self.largeBytesMin = largeBytesMin }

    package var isEmpty: Bool { lines.isEmpty }
    /// Some request waits until a long turn may begin.
    package var hasLong: Bool { !long.isEmpty }
    /// Some request waits for nothing but its turn, and not for the time of a long one.
    package var hasReady: Bool { !small.isEmpty || !large.isEmpty || begun != nil }
    package var hasSmall: Bool { !small.isEmpty }
    /// A large request was begun.
    package var hasBegun: Bool { begun != nil }

    /// Whether a large request can be begun.
    ///
    /// - parameter orLong: a long turn may begin.
    package func hasLarge(orLong: Bool) -> Bool { begun == nil && (!large.isEmpty || orLong && hasLong) }

    // MARK: Arriving

    /// Lines up the requests that have to wait for more than their turn, and those of connections that have a line
    /// already.
    ///
    /// - returns: the others, whose turn must be now.
    package mutating func takePassing(of requests: [Request], _ gate: some AdmissionGate) -> [Request] {
        var passing: [Request]?
        for (index, request) in requests.enumerated() {
            if lines.isEmpty || lines[request.connection] == nil {
                let need = gate.history(for: request)
                if need == nil, !gate.mustScan(request) {
                    passing?.append(request)
                    continue
                }
                open(with: request, need, need == nil ? .scan : .history)
            } else {
                append(request, gate)
            }
            if passing == nil { passing = Array(requests[..<index]) }
        }
        return passing ?? requests
    }

    /// Lines up a request.
    package mutating func append(_ request: Request, _ gate: some AdmissionGate) {
        let connection = request.connection
        let need = gate.history(for: request)
        guard let line = lines[connection] else {
            let wait: Wait = need != nil ? .history : gate.mustScan(request) ? .scan : .release
            let line = open(with: request, need, wait)
            if case .release = wait { lineUp(connection, line) }
            return
        }
        let question = need.map { questions.ask($0, for: connection) }
        line.entries.append(Entry(request: request, question: question))
        count += 1
        switch line.wait {
        case .scan: gate.waitsBehindScan(request)
        case .history, .release, .turn, .preparation: break
        }
        if case .disconnect = request.operation { drop(of: connection, gate) }
    }

    @discardableResult
    private mutating func open(with request: Request, _ need: HistoryNeed?, _ wait: Wait) -> Line {
        let line = Line(wait)
        line.entries.append(Entry(request: request, question: need.map { questions.ask($0, for: request.connection) }))
        lines[request.connection] = line
        count += 1
        return line
    }

    // MARK: Leaving

    /// Takes small requests that make a turn: `countMax` at most, with about `bytesMax` bytes of values.
    package mutating func takeSmall(countMax: Int, bytesMax: Int, _ gate: some AdmissionGate) -> [Request] {
        var turn: [Request] = []
        var bytes = 0
        var begun = 0
        while bytes < bytesMax, turn.count < countMax, let connection = small.takeFirst(&shares) {
            if mustScanAgain(connection, gate) {
                begun += 1
                if begun < Self.rescansOfTurnMax { continue } else { break }
            }
            if let request = take(from: connection, gate) {
                shares.charge(request.sharer, nanoseconds: Self.expectedCost)
                bytes += request.byteCount
                turn.append(request)
            }
        }
        return turn
    }

    /// Whether the scan's result for the first request of a line is no longer valid. If so, the request waits for a new
    /// scan, because its turn would visit all children at once. After some scans it is processed anyway, with the
    /// reason if there is no result.
    private func mustScanAgain(_ connection: ConnectionID, _ gate: some AdmissionGate) -> Bool {
        guard let line = lines[connection], let head = line.entries.first, head.rescans < Self.rescansMax,
            gate.mustScan(head.request)
        else { return false }
        line.entries.first?.rescans += 1
        line.wait = .scan
        return true
    }

    private static let rescansMax = 3
    /// Scans that are started over before a turn. Each begins with a step.
    private static let rescansOfTurnMax = 8

    /// The assumed cost of a request until it is known, in nanoseconds.
    package static let expectedCost: Int64 = 10_000

    /// A request has taken time, of which others wait for some.
    package mutating func charge(_ request: Request, nanoseconds: Int64) {
        shares.charge(request.sharer, nanoseconds: nanoseconds)
    }

    /// A turn is over.
    package mutating func endTurn() { if !hasReady, !hasLong { shares.reset() } }

    /// Begins a large request. Until it is taken or put back, it stays first in its line, and no other large one is
    /// begun.
    ///
    /// - parameter orLong: a long turn may begin; requests that wait for that go first.
    package mutating func beginLarge(orLong: Bool) -> Request? {
        guard begun == nil else { return nil }
        if orLong, let connection = long.takeFirst(&shares) { return begin(connection) }
        guard let connection = large.takeFirst(&shares) else { return nil }
        return begin(connection)
    }

    private mutating func begin(_ connection: ConnectionID) -> Request? {
        begun = connection
        let line = lines[connection]
        line?.wait = .preparation
        return line?.entries.first?.request
    }

    /// Takes the large request that was begun.
    package mutating func takeBegun(_ gate: some AdmissionGate) {
        guard let connection = begun else { return }
        begun = nil
        _ = take(from: connection, gate)
    }

    /// Puts the large request back that was begun.
    package mutating func cancelBegun() {
        guard let connection = begun else { return }
        begun = nil
        if let line = lines[connection] { lineUp(connection, line) }
    }

    /// The large request that was begun has to wait for an earlier one of its connection.
    package mutating func blockBegun() {
        guard let connection = begun else { return }
        begun = nil
        lines[connection]?.wait = .release
    }

    /// The large request that was begun takes a long turn. False if it may have that now; otherwise it is put back, and
    /// waits for it.
    ///
    /// - parameter isTooEarly: no long turn may begin yet.
    package mutating func setAsideBegun(isTooEarly: Bool) -> Bool {
        guard let connection = begun, let line = lines[connection], line.entries.first?.isLong == false else {
            return false
        }
        line.entries.first?.isLong = true
        // If others wait already, the one whose client has had the least time goes first.
        guard isTooEarly || hasLong else { return false }
        cancelBegun()
        return true
    }

    /// Puts back requests of the last turn in front of all others of their connections. Those in `waiting`, which came
    /// first, wait for the end of a large read.
    package mutating func giveBack(
        _ requests: ArraySlice<Request>, waiting: [Request], _ gate: some AdmissionGate
    ) {
        var blocked: Set<ConnectionID> = []
        for request in requests.reversed() { putBack(request) }
        for request in waiting.reversed() {
            putBack(request)
            blocked.insert(request.connection)
        }
        // In the order of their first requests. Those that have lined up do not wait for a read any more.
        for request in requests where blocked.isEmpty || !blocked.contains(request.connection) {
            if let line = lines[request.connection], case .release = line.wait { lineUp(request.connection, line) }
        }
        dropEnded(of: requests, gate)
        dropEnded(of: waiting[...], gate)
    }

    private mutating func putBack(_ request: Request) {
        let connection = request.connection
        if begun == connection { cancelBegun() }
        let line: Line
        if let known = lines[connection] {
            line = known
            leaveTurn(connection, line)
        } else {
            line = Line()
            lines[connection] = line
        }
        line.entries.prepend(Entry(request: request))
        line.wait = .release
        count += 1
    }

    /// Removes the requests that can be refused: those that wait only for their turn, up to the first of each
    /// connection that must not be refused because it ends something.
    ///
    /// - parameter excluded: connections that wait for answers to earlier requests.
    package mutating func takeRefusable(except excluded: Set<ConnectionID>, _ gate: some AdmissionGate) -> [Request] {
        cancelBegun()
        var taken: [Request] = []
        for connection in lines.keys.sorted(by: { $0.raw < $1.raw }) where !excluded.contains(connection) {
            guard let line = lines[connection] else { continue }
            while case .turn = line.wait, let request = line.entries.first?.request,
                request.operation.canBeRefused, !gate.endsListener(request)
            {
                leaveTurn(connection, line)
                if let request = take(from: connection, gate) { taken.append(request) }
            }
        }
        return taken
    }

    /// Those of other nodes' connections, in the order of each.
    var forwarded: [Request] {
        lines.filter(\.key.isForwarded).sorted { $0.key.raw < $1.key.raw }.flatMap { _, line in
            line.entries.elements.compactMap { $0?.request }
        }
    }

    /// Takes the large requests whose turn comes next, and all that their connections have asked after them. Requests
    /// that end a connection stay.
    ///
    /// - parameter excluded: connections that wait for answers to earlier requests.
    package mutating func takeLarge(except excluded: Set<ConnectionID>, _ gate: some AdmissionGate) -> [Request] {
        var taken: [Request] = []
        for connection in lines.keys.sorted(by: { $0.raw < $1.raw }) where !excluded.contains(connection) {
            guard let line = lines[connection], case .turn(let turn) = line.wait, turn != .small else { continue }
            leaveTurn(connection, line)
            count -= line.entries.count
            line.entries.removeAll { entry in
                if entry.request.operation.isOfEnd { return false }
                taken.append(entry.request)
                return true
            }
            count += line.entries.count
            advance(connection, line, gate)
        }
        return taken
    }

    private mutating func take(from connection: ConnectionID, _ gate: some AdmissionGate) -> Request? {
        guard let line = lines[connection], let entry = line.entries.takeFirst() else { return nil }
        count -= 1
        advance(connection, line, gate)
        return entry.request
    }

    // MARK: Going on

    /// Finds out why the first request of a line waits.
    mutating func advance(_ connection: ConnectionID, _ line: Line, _ gate: some AdmissionGate) {
        guard let head = line.entries.first else {
            // Its turn does not come any more.
            line.wait = .release
            lines[connection] = nil
            return
        }
        if head.question != nil {
            line.wait = .history
        } else if gate.mustScan(head.request) {
            line.wait = .scan
        } else {
            lineUp(connection, line)
        }
    }

    private mutating func lineUp(_ connection: ConnectionID, _ line: Line) {
        guard let entry = line.entries.first else { return }
        let turn = turn(of: entry)
        line.wait = .turn(turn)
        let sharer = entry.request.sharer
        switch turn {
        case .small: small.append(connection, of: sharer, shares)
        case .large: large.append(connection, of: sharer, shares)
        case .long: long.append(connection, of: sharer, shares)
        }
    }

    private func turn(of entry: Entry) -> Turn { entry.isLong ? .long : isLarge(entry.request) ? .large : .small }

    private func isLarge(_ request: Request) -> Bool { request.isLarge || request.byteCount > largeBytesMin }

    /// The line does not wait for its turn any more.
    mutating func leaveTurn(_ connection: ConnectionID, _ line: Line) {
        guard case .turn(let turn) = line.wait, let sharer = line.entries.first?.request.sharer else { return }
        switch turn {
        case .small: small.remove(connection, of: sharer)
        case .large: large.remove(connection, of: sharer)
        case .long: long.remove(connection, of: sharer)
        }
        line.wait = .release
    }

    /// The scan that a connection's request has waited for is done.
    package mutating func scanEnded(for connection: ConnectionID) {
        if let line = lines[connection], case .scan = line.wait { lineUp(connection, line) }
    }

    /// A large read of a connection has ended, or its forwarded request was answered.
    package mutating func goOn(_ connection: ConnectionID) {
        if let line = lines[connection], case .release = line.wait { lineUp(connection, line) }
    }

    /// It is known which node takes the writes, a large write has had its turn, or a link has room for answers. Those
    /// that wait for something else find that out with their turn.
    package mutating func goOnWaiting(where isConcerned: (ConnectionID) -> Bool = { _ in true }) {
        for connection in lines.keys.filter(isConcerned).sorted(by: { $0.raw < $1.raw }) {
            goOn(connection)
        }
    }

    /// Nothing waits for scans and large reads any more.
    package mutating func releaseAll(_ gate: some AdmissionGate) {
        for connection in lines.keys.sorted(by: { $0.raw < $1.raw }) {
            guard let line = lines[connection] else { continue }
            switch line.wait {
            case .scan:
                gate.endScan(for: connection)
                lineUp(connection, line)
            case .release: lineUp(connection, line)
            case .history, .turn, .preparation: break
            }
        }
    }

    // MARK: History

    /// The next questions to the log; nil without questions, or while the last ones are being answered.
    package mutating func takeQuestions() -> [HistoryQuestion]? { questions.take() }

    /// The questions are answered, as far as that was possible.
    package mutating func answered(_ answers: [UInt64: MissedChanges.Found], _ gate: some AdmissionGate) {
        for connection in questions.answered() {
            guard let line = lines[connection] else { continue }
            line.entries.update { [lastAsked = questions.lastAsked] entry in
                guard let serial = entry.question, serial <= lastAsked else { return }
                if case .listen(let path, let known, let since, _) = entry.request.operation {
                    entry.request = entry.request.asking(
                        .listen(path, known: known, since: since, missed: answers[serial]))
                }
                entry.question = nil
            }
            if case .history = line.wait { advance(connection, line, gate) }
        }
    }

    // MARK: Invariants

    /// Traps if the lines, the turns and the count contradict each other. O(requests that wait).
    package func checkInvariants() {
        var (entries, smallLines, largeLines, longLines) = (0, 0, 0, 0)
        for (connection, line) in lines {
            precondition(!line.entries.isEmpty, "a line is empty")
            entries += line.entries.count
            switch line.wait {
            case .turn(let turn):
                switch turn {
                case .small: smallLines += 1
                case .large: largeLines += 1
                case .long: longLines += 1
                }
                precondition(line.entries.first.map { self.turn(of: $0) } == turn, "a request is in the wrong queue")
                precondition(line.entries.first?.question == nil, "a question is not answered")
            case .preparation: precondition(begun == connection, "a line waits for a preparation that is not under way")
            case .history:
                precondition(line.entries.first?.question != nil, "a line waits for an answer that was not requested")
                precondition(questions.owes(connection), "no request asks the log")
            case .scan, .release: break
            }
        }
        precondition(
            smallLines == small.count && largeLines == large.count && longLines == long.count, "a turn does not come")
        precondition(entries == count, "the count of requests that wait is wrong")
        if let begun, case .preparation? = lines[begun]?.wait {} else { precondition(begun == nil) }
    }
}
