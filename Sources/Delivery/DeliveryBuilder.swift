package import HearthEventLoop
import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSecurityRules
import HearthWebSocketCodec
import HearthTreeQueries
import HearthServerProtocol

/// Encodes what databases say: each push once for all its receivers, into one array of frames and events that all loops
/// share.
package struct DeliveryBuilder {
    private var answers = EncodedOutput()
    /// Frames and events of pushes, apart from the rest, so that those of one run lie next to each other.
    private var pushes = EncodedOutput()
    private var runs: [Range<Int>] = []
    /// Who gets the last run, as long as further pushes to the same may join it.
    private var openRun: [GroupAddress]?
    private var entries: [[LoopDelivery.Entry]]
    /// Where updates of listeners that resume are in `answers`.
    private var missed: [MissedKey: (update: MissedUpdate, range: Range<Int>)] = [:]
    /// Bytes of the values in replies that are not put into frames here.
    private var replyBytes = 0
    private let outbound: OutboundMemory
    private let openStream: (SnapshotRead) -> SnapshotStream

    /// - parameter outbound: where what loops cannot send at once is counted.
    /// - parameter openStream: called for each large read, when the connection is told of it.
    package init(loops: Int, outbound: OutboundMemory, openStream: @escaping (SnapshotRead) -> SnapshotStream) {
        self.outbound = outbound
        entries = Array(repeating: [], count: loops)
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
                addRun(pushes.frame { Self.append(events, of: push, to: &$0) }, to: [group]) { .push($0, run: $1) }
            }
        case .initialQuery(let connection, let push):
            switch push.content {
            case .change(.set(let assignment)) where push.form == .eventStream:
                begin(connection, assignment, at: push.path, nil)
            case .change(.set(let assignment)):
                send(Self.frame(assignment, tag: push.form.tag, in: &answers), to: connection)
            case .change: preconditionFailure("a listener begins with a value")
            case .events(let events):
                send(.whole(answers.frame { Self.append(events, of: push, to: &$0) }), to: connection)
            }
        case .initial(let connection, let path, let value, let position):
            let assignment = Assignment(target: WriteTarget(path: path), value: value)
            switch connection.kind {
            case .http: begin(connection, assignment, at: path, position)
            case .realtime: send(Self.frame(assignment, in: &answers), to: connection)
            }
        case .missed(let connection, let update, let position):
            if let update { add(update, at: position, for: connection) }
            guard connection.kind == .http else { break }
            // Begins the answer, and says how far it reaches.
            let range = answers.event { EventStreamWriter.appendKeepAlive(at: position, to: &$0) }
            entries[connection.loop].append(.events(connection, range))
        case .initialParts(let connection, let path, let tag, let parts):
            send(
                .whole(answers.frame { ServerMessageWriter.appendParts(path, parts, tag: tag, to: &$0) }),
                to: connection)
        case .join(let group, let connection): entries[connection.loop].append(.join(group, connection))
        case .leave(let group, let connection): entries[connection.loop].append(.leave(group, connection))
        case .reply(let connection, let number, let reply):
            switch connection.kind {
            case .http:
                replyBytes += reply.byteCount
                entries[connection.loop].append(.reply(connection, reply))
            case .realtime:
                answer(connection, number, reply)
            }
        case .revoked(let connection, let path, let listener, let status): revoke(connection, path, listener, status)
        case .stream(let read): entries[read.connection.loop].append(.stream(openStream(read)))
        }
    }

    private mutating func answer(_ connection: ConnectionID, _ number: Int64, _ reply: Reply) {
        guard case .value(let value) = reply else {
            let range = answers.frame { Self.append(reply, number: number, to: &$0) }
            return Self.append(answer: range, for: connection, to: &entries[connection.loop])
        }
        let place = answers.frame(value) {
            ServerMessageWriter.appendResponseHead(number: number, to: &$0)
        } tail: {
            $0.append(contentsOf: ServerMessageWriter.responseTail)
        }
        switch place {
        case .whole(let range): Self.append(answer: range, for: connection, to: &entries[connection.loop])
        case .around(let head, let value, let tail):
            send(.whole(head), to: connection)
            send(.whole(value), to: connection)
            entries[connection.loop].append(.frames(connection, tail, answers: 1))
        }
    }

    /// Frames that answer nothing.
    private mutating func send(_ place: EncodedOutput.Place, to connection: ConnectionID) {
        place.forEachRange { entries[connection.loop].append(.frames(connection, $0, answers: 0)) }
    }

    /// An answer goes out as one piece with what lies right before it for the same connection.
    private static func append(
        answer range: Range<Int>, for connection: ConnectionID, to entries: inout [LoopDelivery.Entry]
    ) {
        if case .frames(connection, let before, let count)? = entries.last, before.upperBound == range.lowerBound {
            let both = before.lowerBound..<range.upperBound
            entries[entries.count - 1] = .frames(connection, both, answers: count + 1)
        } else {
            entries.append(.frames(connection, range, answers: 1))
        }
    }

    private mutating func push(
        _ change: Change, tag: Int64? = nil, position: [UInt8]? = nil, to groups: [GroupAddress]
    ) {
        let place: EncodedOutput.Place =
            switch change {
            case .set(let assignment): Self.frame(assignment, tag: tag, position: position, in: &pushes)
            case .merge: .whole(pushes.frame { Self.append(change, tag: tag, position: position, to: &$0) })
            case .setChildren(of: let base, let children):
                pushes.frame(children) {
                    ServerMessageWriter.appendMergeHead(base, to: &$0)
                } tail: {
                    ServerMessageWriter.appendDataTail(tag: tag, position: position, to: &$0)
                }
            }
        place.forEachRange { addRun($0, to: groups) { .push($0, run: $1) } }
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

    private static func frame(
        _ assignment: Assignment, tag: Int64? = nil, position: [UInt8]? = nil, in output: inout EncodedOutput
    ) -> EncodedOutput.Place {
        output.frame(assignment.value) {
            ServerMessageWriter.appendDataHead(assignment.target, to: &$0)
        } tail: {
            ServerMessageWriter.appendDataTail(tag: tag, position: position, to: &$0)
        }
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
        let key = MissedKey(update: ObjectIdentifier(update), position: position, kind: connection.kind)
        let range: Range<Int>
        if let known = missed[key] {
            range = known.range
        } else {
            range = append(update, at: position, for: connection.kind)
            missed[key] = (update, range)
        }
        if range.isEmpty { return }
        switch connection.kind {
        case .http: entries[connection.loop].append(.events(connection, range))
        case .realtime: entries[connection.loop].append(.frames(connection, range, answers: 0))
        }
    }

    private mutating func append(
        _ update: MissedUpdate, at position: Position, for kind: ConnectionID.Kind
    ) -> Range<Int> {
        switch kind {
        case .http:
            return answers.event {
                EventStreamWriter.append(update.change, at: update.path, position: position, to: &$0)
            }
        case .realtime:
            return answers.frame { Self.append(update.change, position: position.text, to: &$0) }
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
            for loop in entries.indices where address.loops >> UInt64(loop) & 1 == 1 {
                entries[loop].append(entry(address.group, runs.count - 1))
            }
        }
    }

    private mutating func revoke(
        _ connection: ConnectionID, _ path: Path, _ listener: RevokedListener, _ status: StaticText?
    ) {
        if connection.kind == .http { return entries[connection.loop].append(.cancelEvents(connection)) }
        let range = answers.frame { out in
            switch listener {
            case .plain: ServerMessageWriter.appendRevoke(path, query: nil, status: status?.text, to: &out)
            case .query(let query): ServerMessageWriter.appendRevoke(path, query: query, status: status?.text, to: &out)
            case .events(let tag):
                ServerMessageWriter.appendRevoke(path, query: nil, tag: tag, status: status?.text, to: &out)
            }
        }
        entries[connection.loop].append(.frames(connection, range, answers: 0))
    }

    /// The first event of a stream.
    private mutating func begin(
        _ connection: ConnectionID, _ assignment: Assignment, at path: Path, _ position: Position?
    ) {
        Self.event(assignment, at: path, position, in: &answers).forEachRange {
            entries[connection.loop].append(.events(connection, $0))
        }
    }

    /// Bytes of everything so far.
    package var byteCount: Int { answers.count + pushes.count + replyBytes }

    /// Hands each loop its part.
    package consuming func finish(_ deliver: (Int, LoopDelivery) -> Void) {
        let loopCount = entries.reduce(0) { $0 + ($1.isEmpty ? 0 : 1) }
        let share = byteCount / max(loopCount, 1)
        if loopCount == 0 { return }
        let bytes = SharedBytes(answers.bytes, in: outbound)
        let pushes = SharedBytes(pushes.bytes, in: outbound)
        for loop in entries.indices where !entries[loop].isEmpty {
            deliver(
                loop,
                LoopDelivery(bytes: bytes, pushes: pushes, runs: runs, entries: entries[loop], backlogBytes: share))
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
        case .value(let value): ServerMessageWriter.appendResponse(number: number, data: value.bytes, to: &out)
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

extension EncodedOutput.Place {
    fileprivate func forEachRange(_ body: (Range<Int>) -> Void) {
        switch self {
        case .whole(let range): body(range)
        case .around(let head, let value, let tail):
            body(head)
            body(value)
            body(tail)
        }
    }
}

/// An update in one of the two ways of saying it.
private struct MissedKey: Hashable {
    /// Kept alive by its entries.
    let update: ObjectIdentifier
    let position: Position
    let kind: ConnectionID.Kind
}

extension Output {
    /// Whether pushes that are made after it may be sent before it: true of the answer to a write, which says nothing
    /// about data.
    fileprivate var mayFollowLaterPushes: Bool {
        switch self {
        case .push, .pushQuery: true
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
