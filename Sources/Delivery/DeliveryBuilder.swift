package import HearthEventLoop
import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSecurityRules
import HearthTreeQueries
import HearthServerProtocol

/// Encodes the outputs of databases as messages and events: each push once for its receivers on all loops.
package struct DeliveryBuilder {
    /// The part of one loop.
    private struct Part {
        var output = EncodedOutput()
        var entries: [LoopDelivery.Entry] = []
    }

    private var parts: [Part]
    /// Messages and events of pushes, apart from the rest, so that those of one run lie next to each other.
    private var pushes = EncodedOutput()
    private var runs: [Range<Int>] = []
    /// The receivers of the last run, as long as further pushes to the same may join it.
    private var openRun: [GroupAddress]?
    /// Where updates of listeners that resume are in the output of a loop.
    private var missed: [MissedKey: (update: MissedUpdate, range: Range<Int>)] = [:]
    /// Bytes of everything but the pushes.
    private var answerBytes = 0
    private let outbound: OutboundMemory
    private let openStream: (SnapshotRead) -> SnapshotStream

    /// - parameter outbound: counts bytes that loops cannot send at once.
    /// - parameter openStream: called for each large read, when the connection is told of it.
    package init(loops: Int, outbound: OutboundMemory, openStream: @escaping (SnapshotRead) -> SnapshotStream) {
        self.outbound = outbound
        parts = Array(repeating: Part(), count: loops)
        self.openStream = openStream
    }

    package mutating func add(_ output: Output) {
        if !output.mayFollowLaterPushes { openRun = nil }
        switch output {
        case .push(let change, let position, let groups): push(change, position: position?.text, to: groups)
        case .pushQuery(let push, let group):
            switch push.content {
            case .change(let change) where push.form == .eventStream:
                self.push(change, at: push.path, push.position, toStreams: group)
            case .change(let change): self.push(change, tag: push.form.tag, to: [group])
            case .events(let events):
                let range = pushes.messages.append { Self.append(events, of: push, to: &$0) }
                addRun(range, to: [group]) { .push($0, run: $1) }
            }
        case .initialQuery(let connection, let push):
            switch push.content {
            case .change(.set(let assignment)) where push.form == .eventStream:
                begin(connection, assignment, at: push.path, nil)
            case .change(.set(let assignment)): send(assignment, tag: push.form.tag, to: connection)
            case .change: preconditionFailure("a listener begins with a value")
            case .events(let events): send(to: connection) { Self.append(events, of: push, to: &$0) }
            }
        case .initial(let connection, let path, let value, let position):
            let assignment = Assignment(target: WriteTarget(path: path), value: value)
            switch connection.kind {
            case .http: begin(connection, assignment, at: path, position)
            case .realtime: send(assignment, tag: nil, to: connection)
            }
        case .missed(let connection, let update, let position):
            if let update { add(update, at: position, for: connection) }
            guard connection.kind == .http else { break }
            // Begins the answer, and says how far it reaches.
            let range = event(on: connection.loop) { EventStreamWriter.appendKeepAlive(at: position, to: &$0) }
            add(.events(connection, range), to: connection.loop)
        case .initialParts(let connection, let path, let tag, let parts):
            send(to: connection) { ServerMessageWriter.appendParts(path, parts, tag: tag, to: &$0) }
        case .hold(let connection): add(.hold(connection), to: connection.loop)
        case .join(let group, let connection): add(.join(group, connection), to: connection.loop)
        case .leave(let group, let connection): add(.leave(group, connection), to: connection.loop)
        case .reply(let connection, let number, let reply):
            switch connection.kind {
            case .http:
                answerBytes += reply.byteCount
                add(.reply(connection, reply), to: connection.loop)
            case .realtime:
                answer(connection, number, reply)
            }
        case .revoked(let connection, let path, let listener, let status): revoke(connection, path, listener, status)
        case .stream(let read): add(.stream(openStream(read)), to: read.connection.loop)
        }
    }

    private mutating func add(_ entry: LoopDelivery.Entry, to loop: Int) { parts[loop].entries.append(entry) }

    private mutating func answer(_ connection: ConnectionID, _ number: Int64, _ reply: Reply) {
        let range: Range<Int>
        if case .value(let value) = reply {
            range = message(on: connection.loop, value) {
                ServerMessageWriter.appendResponseHead(number: number, to: &$0)
            } tail: {
                ServerMessageWriter.appendResponseTail(to: &$0)
            }
        } else {
            range = message(on: connection.loop) { Self.append(reply, number: number, to: &$0) }
        }
        Self.append(answer: range, for: connection, to: &parts[connection.loop].entries)
    }

    /// An answer goes out as one piece with the messages right before it for the same connection.
    private static func append(
        answer range: Range<Int>, for connection: ConnectionID, to entries: inout [LoopDelivery.Entry]
    ) {
        if case .messages(connection, let before, let count)? = entries.last, before.upperBound == range.lowerBound {
            let both = before.lowerBound..<range.upperBound
            entries[entries.count - 1] = .messages(connection, both, answers: count + 1)
        } else {
            entries.append(.messages(connection, range, answers: 1))
        }
    }

    /// Adds a message that answers nothing.
    private mutating func send(to connection: ConnectionID, _ write: (inout [UInt8]) -> Void) {
        let range = message(on: connection.loop, write)
        add(.messages(connection, range, answers: 0), to: connection.loop)
    }

    private mutating func send(_ assignment: Assignment, tag: Int64?, to connection: ConnectionID) {
        let range = message(on: connection.loop, assignment.value) {
            ServerMessageWriter.appendDataHead(assignment.target, to: &$0)
        } tail: {
            ServerMessageWriter.appendDataTail(tag: tag, position: nil, to: &$0)
        }
        add(.messages(connection, range, answers: 0), to: connection.loop)
    }

    // MARK: Messages and events for one loop

    private mutating func message(on loop: Int, _ write: (inout [UInt8]) -> Void) -> Range<Int> {
        counting(on: loop) { $0.messages.append(write) }
    }

    private mutating func message(
        on loop: Int, _ value: CanonicalJSON, head: (inout [UInt8]) -> Void, tail: (inout [UInt8]) -> Void
    ) -> Range<Int> {
        counting(on: loop) { $0.messages.append(value, head: head, tail: tail) }
    }

    private mutating func event(on loop: Int, _ write: (inout [UInt8]) -> Void) -> Range<Int> {
        counting(on: loop) { $0.event(write) }
    }

    private mutating func counting<Place>(on loop: Int, _ write: (inout EncodedOutput) -> Place) -> Place {
        let before = parts[loop].output.byteCount
        let place = write(&parts[loop].output)
        answerBytes += parts[loop].output.byteCount - before
        return place
    }

    // MARK: Pushes

    private mutating func push(
        _ change: Change, tag: Int64? = nil, position: [UInt8]? = nil, to groups: [GroupAddress]
    ) {
        let range =
            switch change {
            case .set(let assignment):
                pushes.messages.append(assignment.value) {
                    ServerMessageWriter.appendDataHead(assignment.target, to: &$0)
                } tail: {
                    ServerMessageWriter.appendDataTail(tag: tag, position: position, to: &$0)
                }
            case .merge: pushes.messages.append { Self.append(change, tag: tag, position: position, to: &$0) }
            case .setChildren(of: let base, let children):
                pushes.messages.append(children) {
                    ServerMessageWriter.appendMergeHead(base, to: &$0)
                } tail: {
                    ServerMessageWriter.appendDataTail(tag: tag, position: position, to: &$0)
                }
            }
        addRun(range, to: groups) { .push($0, run: $1) }
    }

    /// Changes that are nothing to a stream are not pushed.
    private mutating func push(
        _ change: Change, at path: Path, _ position: Position?, toStreams group: GroupAddress
    ) {
        let place: EncodedOutput.Place
        if case .set(let assignment) = change, !assignment.target.isPriority {
            place = Self.event(assignment, at: path, position, in: &pushes)
        } else {
            let range = pushes.event { EventStreamWriter.append(change, at: path, position: position, to: &$0) }
            if range.isEmpty { return }
            place = .whole(range)
        }
        place.forEachRange { addRun($0, to: [group]) { .pushEvents($0, run: $1) } }
    }

    private static func event(
        _ assignment: Assignment, at path: Path, _ position: Position?, in output: inout EncodedOutput
    ) -> EncodedOutput.Place {
        output.event(assignment.value) {
            EventStreamWriter.appendPutHead(of: assignment.target.path, at: path, to: &$0)
        } tail: {
            EventStreamWriter.appendPutTail(position, to: &$0)
        }
    }

    /// The data that brings a connection up to date, encoded once for all that need the same.
    private mutating func add(_ update: MissedUpdate, at position: Position, for connection: ConnectionID) {
        let key = MissedKey(
            update: ObjectIdentifier(update), position: position, kind: connection.kind, loop: connection.loop)
        let range: Range<Int>
        if let known = missed[key] {
            range = known.range
        } else {
            range = append(update, at: position, for: connection)
            missed[key] = (update, range)
        }
        if range.isEmpty { return }
        switch connection.kind {
        case .http: add(.events(connection, range), to: connection.loop)
        case .realtime: add(.messages(connection, range, answers: 0), to: connection.loop)
        }
    }

    private mutating func append(
        _ update: MissedUpdate, at position: Position, for connection: ConnectionID
    ) -> Range<Int> {
        switch connection.kind {
        case .http:
            event(on: connection.loop) {
                EventStreamWriter.append(update.change, at: update.path, position: position, to: &$0)
            }
        case .realtime:
            message(on: connection.loop) { Self.append(update.change, position: position.text, to: &$0) }
        }
    }

    /// Pushes to the same groups one after the other become one run, which members get as one piece.
    private mutating func addRun(
        _ range: Range<Int>, to groups: [GroupAddress], _ entry: (GroupID, Int) -> LoopDelivery.Entry
    ) {
        if openRun == groups, runs.last?.upperBound == range.lowerBound {
            runs[runs.count - 1] = runs[runs.count - 1].lowerBound..<range.upperBound
            return
        }
        openRun = groups
        runs.append(range)
        for address in groups {
            for loop in parts.indices where address.loops >> UInt64(loop) & 1 == 1 {
                add(entry(address.group, runs.count - 1), to: loop)
            }
        }
    }

    private mutating func revoke(
        _ connection: ConnectionID, _ path: Path, _ listener: RevokedListener, _ status: StaticText?
    ) {
        if connection.kind == .http { return add(.cancelEvents(connection), to: connection.loop) }
        send(to: connection) { out in
            switch listener {
            case .plain: ServerMessageWriter.appendRevoke(path, query: nil, status: status?.text, to: &out)
            case .query(let query): ServerMessageWriter.appendRevoke(path, query: query, status: status?.text, to: &out)
            case .events(let tag):
                ServerMessageWriter.appendRevoke(path, query: nil, tag: tag, status: status?.text, to: &out)
            }
        }
    }

    /// The first event of a stream.
    private mutating func begin(
        _ connection: ConnectionID, _ assignment: Assignment, at path: Path, _ position: Position?
    ) {
        let place = counting(on: connection.loop) { Self.event(assignment, at: path, position, in: &$0) }
        place.forEachRange { add(.events(connection, $0), to: connection.loop) }
    }

    /// Bytes of everything so far.
    package var byteCount: Int { answerBytes + pushes.byteCount }

    /// Hands each loop its part.
    package consuming func finish(_ deliver: (Int, LoopDelivery) -> Void) {
        let loopCount = parts.reduce(0) { $0 + ($1.entries.isEmpty ? 0 : 1) }
        if loopCount == 0 { return }
        let share = byteCount / loopCount
        let messages = pushes.messages.isEmpty ? nil : PushedMessages(pushes.messages)
        let pushedEvents = pushes.events.isEmpty ? nil : SharedBytes(pushes.events, in: outbound)
        for (loop, part) in parts.enumerated() where !part.entries.isEmpty {
            let events = part.output.events.isEmpty ? nil : SharedBytes(part.output.events, in: outbound)
            deliver(
                loop,
                LoopDelivery(
                    messages: part.output.messages, events: events, pushes: messages, pushedEvents: pushedEvents,
                    runs: runs, entries: part.entries, backlogBytes: share))
        }
    }

    private static func append(_ events: [QueryEvent], of push: QueryPush, to out: inout [UInt8]) {
        guard case .events(let tag, _) = push.form else { preconditionFailure("events for another form of listener") }
        ServerMessageWriter.appendEvents(push.path, events, tag: tag, to: &out)
    }

    private static func append(
        _ change: Change, tag: Int64? = nil, position: [UInt8]? = nil, to out: inout [UInt8]
    ) {
        switch change {
        case .set(let assignment):
            ServerMessageWriter.appendData(
                assignment.target, assignment.value, tag: tag, position: position, to: &out)
        case .merge(let base, let assignments):
            ServerMessageWriter.appendMerge(
                base: base, assignments.map { ($0.target, $0.value) }, tag: tag, position: position, to: &out)
        case .setChildren(of: let base, let children):
            ServerMessageWriter.appendMergeHead(base, to: &out)
            out.append(contentsOf: children.bytes)
            ServerMessageWriter.appendDataTail(tag: tag, position: position, to: &out)
        }
    }

    private static func append(_ reply: Reply, number: Int64, to out: inout [UInt8]) {
        switch reply {
        case .done: ServerMessageWriter.appendDone(number: number, to: &out)
        case .listening: ServerMessageWriter.appendResponse(number: number, literal: "{}", to: &out)
        case .listeningUnindexed(nil):
            ServerMessageWriter.appendResponse(number: number, literal: #"{"w":["no_index"]}"#, to: &out)
        case .listeningUnindexed(let needs?):
            var data = Array(#"{"w":["no_index"],"needs":"#.utf8)
            JSONText.appendQuoted(needs, to: &data)
            ServerMessageWriter.appendResponse(number: number, data: data + [UInt8(ascii: "}")], to: &out)
        case .listeningAt(let position, let recovered, let unindexed):
            ServerMessageWriter.appendListening(
                number: number, position: position.text, recovered: recovered, unindexed: unindexed, to: &out)
        case .value: preconditionFailure("a value is appended apart from its head and tail")
        case .explained(let explanation):
            let answer = AdminCallAnswer.json(status: 200, explanation.json)
            ServerMessageWriter.appendResponse(number: number, data: answer, to: &out)
        case .failed(let failure):
            ServerMessageWriter.appendFailure(
                number: number, status: failure.status, text: failure.message, reason: failure.denialReason,
                retryAfter: failure.retryAfter, to: &out)
        }
    }
}

/// An update in one of the two ways of saying it.
private struct MissedKey: Hashable {
    /// Kept alive by its entries.
    let update: ObjectIdentifier
    let position: Position
    let kind: ConnectionID.Kind
    let loop: Int
}

extension Output {
    /// Whether pushes that are made after it may be sent before it: true of the answer to a write, which says nothing
    /// about data.
    fileprivate var mayFollowLaterPushes: Bool {
        switch self {
        case .push, .pushQuery, .hold: true
        case .reply(_, _, .done), .reply(_, _, .failed): true
        case .reply, .initial, .initialQuery, .initialParts, .missed, .join, .leave, .revoked, .stream: false
        }
    }
}

extension Reply {
    /// Bytes of the value in it.
    package var byteCount: Int {
        switch self {
        case .value(let value), .failed(.stale(let value)): value.bytes.count
        case .done, .listening, .listeningUnindexed, .listeningAt, .explained, .failed: 0
        }
    }
}

extension Failure {
    /// The word that SDKs know the failure by (Protocol.md 10.1).
    package var status: StaticString {
        switch self {
        case .stale: "datastale"
        case .nothingThere: "invalid_argument"
        case .noIndex: "no_index"
        case .tooLarge: "too_big"
        case .denied, .notUnique, .refusedBySetting, .rateExceeded: "permission_denied"
        case .unavailable: "unavailable"
        case .refused(let status, _): status.text
        }
    }
}
