import JSONTree
import RealtimeDatabase
import WebSocketCodec
import WireProtocol

/// Encodes what databases say: each push once, whoever gets it, into one array of frames and events that all loops
/// share.
struct DeliveryBuilder {
    private var bytes: [UInt8] = []
    private var message: [UInt8] = []
    /// Frames and events of pushes, apart from the rest, so that those of one run lie next to each other.
    private var pushes: [UInt8] = []
    private var runs: [Range<Int>] = []
    /// Who gets the last run, as long as further pushes to the same may join it.
    private var openRun: [GroupAddress]?
    private var entries: [[LoopDelivery.Entry]]
    /// Where updates of listeners that resume are in `bytes`.
    private var missed: [MissedKey: (update: MissedUpdate, range: Range<Int>)] = [:]
    /// Bytes of the values in replies that are not put into frames here.
    private var replyBytes = 0
    private let openStream: (SnapshotRead) -> SnapshotStream

    /// - parameter openStream: called for each large read, when the connection is told of it.
    init(loops: Int, openStream: @escaping (SnapshotRead) -> SnapshotStream) {
        entries = Array(repeating: [], count: loops)
        self.openStream = openStream
    }

    mutating func add(_ output: Output) {
        if !output.mayFollowLaterPushes { openRun = nil }
        switch output {
        case .push(let change, let position, let groups):
            push(to: groups) { Self.append(change, position: position?.text, to: &$0) }
        case .pushQuery(let push, let group):
            if case (.eventStream, .change(let change)) = (push.form, push.content) {
                self.push(change, at: push.path, push.position, toStreams: group)
            } else {
                self.push(to: [group]) { Self.append(push, to: &$0) }
            }
        case .initialQuery(let connection, let push):
            if case (.eventStream, .change(let change)) = (push.form, push.content) {
                begin(connection) { EventStreamWriter.append(change, at: push.path, to: &$0) }
            } else {
                let range = Self.frame(&bytes, &message) { Self.append(push, to: &$0) }
                entries[connection.loop].append(.frames(connection, range, answers: 0))
            }
        case .initial(let connection, let path, let value, let position):
            switch connection.kind {
            case .http: begin(connection) { EventStreamWriter.appendInitial(value, at: position, to: &$0) }
            case .realtime:
                let range = Self.frame(&bytes, &message) {
                    ServerMessageWriter.appendData(WriteTarget(path: path), value, to: &$0)
                }
                entries[connection.loop].append(.frames(connection, range, answers: 0))
            }
        case .missed(let connection, let update, let position):
            if let update { add(update, at: position, for: connection) }
            guard connection.kind == .http else { break }
            // Begins the answer, and says how far it reaches.
            begin(connection) { EventStreamWriter.appendKeepAlive(at: position, to: &$0) }
        case .initialParts(let connection, let path, let tag, let parts):
            let range = Self.frame(&bytes, &message) { ServerMessageWriter.appendParts(path, parts, tag: tag, to: &$0) }
            entries[connection.loop].append(.frames(connection, range, answers: 0))
        case .join(let group, let connection): entries[connection.loop].append(.join(group, connection))
        case .leave(let group, let connection): entries[connection.loop].append(.leave(group, connection))
        case .reply(let connection, let number, let reply):
            switch connection.kind {
            case .http:
                replyBytes += reply.byteCount
                entries[connection.loop].append(.reply(connection, reply))
            case .realtime:
                let range = Self.frame(&bytes, &message) { Self.append(reply, number: number, to: &$0) }
                Self.append(answer: range, for: connection, to: &entries[connection.loop])
            }
        case .revoked(let connection, let path, let listener): revoke(connection, path, listener)
        case .stream(let read): entries[read.connection.loop].append(.stream(openStream(read)))
        }
    }

    /// An answer goes out as one piece with what lies right before it for the same connection.
    private static func append(
        answer range: Range<Int>, for connection: ConnectionID, to entries: inout [LoopDelivery.Entry]
    ) {
        if case .frames(connection, let before, let answers)? = entries.last, before.upperBound == range.lowerBound {
            let both = before.lowerBound..<range.upperBound
            entries[entries.count - 1] = .frames(connection, both, answers: answers + 1)
        } else {
            entries.append(.frames(connection, range, answers: 1))
        }
    }

    private mutating func push(to groups: [GroupAddress], _ write: (inout [UInt8]) -> Void) {
        let range = Self.frame(&pushes, &message, write)
        addRun(range, to: groups) { .push($0, run: $1) }
    }

    /// Changes that are nothing to a stream are not pushed.
    private mutating func push(
        _ change: Change, at path: Path, _ position: Position?, toStreams group: GroupAddress
    ) {
        let start = pushes.count
        EventStreamWriter.append(change, at: path, position: position, to: &pushes)
        if pushes.count > start { addRun(start..<pushes.count, to: [group]) { .pushEvents($0, run: $1) } }
    }

    /// What brings a connection up to date, encoded once for all who need the same.
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
            let start = bytes.count
            EventStreamWriter.append(update.change, at: update.path, position: position, to: &bytes)
            return start..<bytes.count
        case .realtime:
            return Self.frame(&bytes, &message) { Self.append(update.change, position: position.text, to: &$0) }
        }
    }

    /// Pushes to the same groups one behind the other become one run, which members get as one piece.
    private mutating func addRun(
        _ range: Range<Int>, to groups: [GroupAddress], _ entry: (GroupID, Int) -> LoopDelivery.Entry
    ) {
        if openRun == groups {
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

    private mutating func revoke(_ connection: ConnectionID, _ path: Path, _ listener: RevokedListener) {
        if connection.kind == .http { return entries[connection.loop].append(.cancelEvents(connection)) }
        let range = Self.frame(&bytes, &message) { out in
            switch listener {
            case .plain: ServerMessageWriter.appendRevoke(path, query: nil, to: &out)
            case .query(let query): ServerMessageWriter.appendRevoke(path, query: query, to: &out)
            case .events(let tag): ServerMessageWriter.appendRevoke(path, query: nil, tag: tag, to: &out)
            }
        }
        entries[connection.loop].append(.frames(connection, range, answers: 0))
    }

    /// The first event of a stream.
    private mutating func begin(_ connection: ConnectionID, _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        entries[connection.loop].append(.events(connection, start..<bytes.count))
    }

    /// Bytes of everything so far.
    var byteCount: Int { bytes.count + pushes.count + replyBytes }

    /// Hands each loop its part.
    consuming func finish(_ deliver: (Int, LoopDelivery) -> Void) {
        let loopCount = entries.reduce(0) { $0 + ($1.isEmpty ? 0 : 1) }
        let share = byteCount / max(loopCount, 1)
        for loop in entries.indices where !entries[loop].isEmpty {
            deliver(
                loop,
                LoopDelivery(bytes: bytes, pushes: pushes, runs: runs, entries: entries[loop], backlogBytes: share))
        }
    }

    /// Writes a message and frames it; messages of more than one frame get their count first (wire-protocol 1.6).
    private static func frame(
        _ out: inout [UInt8], _ message: inout [UInt8], _ write: (inout [UInt8]) -> Void
    ) -> Range<Int> {
        let start = out.count
        message.removeAll(keepingCapacity: true)
        write(&message)
        RealtimeFrames.append(message.span, to: &out)
        return start..<out.count
    }

    private static func append(_ push: QueryPush, to out: inout [UInt8]) {
        switch (push.form, push.content) {
        case (.tagged(let tag), .change(let change)): append(change, tag: tag, to: &out)
        case (.events(let tag, _), .events(let events)):
            ServerMessageWriter.appendEvents(push.path, events, tag: tag, to: &out)
        default: preconditionFailure("a push of a form has the content of another")
        }
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
        }
    }

    private static func append(_ reply: Reply, number: Int64, to out: inout [UInt8]) {
        switch reply {
        case .done: ServerMessageWriter.appendDone(number: number, to: &out)
        case .listening: ServerMessageWriter.appendResponse(number: number, literal: "{}", to: &out)
        case .listeningUnindexed:
            ServerMessageWriter.appendResponse(number: number, literal: #"{"w":["no_index"]}"#, to: &out)
        case .listeningAt(let position, let recovered, let unindexed):
            ServerMessageWriter.appendListening(
                number: number, position: position.text, recovered: recovered, unindexed: unindexed, to: &out)
        case .value(let value): ServerMessageWriter.appendResponse(number: number, data: value.bytes, to: &out)
        case .explained(let explanation):
            ServerMessageWriter.appendResponse(number: number, data: explanation.adminCallAnswer, to: &out)
        case .failed(let failure):
            ServerMessageWriter.appendFailure(
                number: number, status: failure.status, text: failure.message, reason: failure.denialReason, to: &out)
        }
    }
}

/// An update in one of the two ways of saying it.
private struct MissedKey: Hashable {
    /// Kept alive by what is found by it.
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
    var byteCount: Int {
        switch self {
        case .value(let value), .failed(.stale(let value)): value.bytes.count
        case .done, .listening, .listeningUnindexed, .listeningAt, .explained, .failed: 0
        }
    }
}

extension Failure {
    /// The word that SDKs know the failure by (wire-protocol 2.7).
    var status: StaticString {
        switch self {
        case .stale: "datastale"
        case .nothingThere: "invalid_argument"
        case .noIndex: "no_index"
        case .tooLarge: "too_big"
        case .denied: "permission_denied"
        case .unavailable: "unavailable"
        case .refused(let status, _): status.text
        }
    }
}

/// Puts a message of the realtime protocol into a server's WebSocket frames.
enum RealtimeFrames {
    static func append(_ message: Span<UInt8>, to out: inout [UInt8]) {
        // A UTF-8 text has at least as many bytes as UTF-16 units.
        if message.count <= MessageChunks.unitsMax { return FrameEncoder.append(.text, message.bytes, to: &out) }
        message.withUnsafeBytes { bytes in
            let chunks = MessageChunks.ranges(of: bytes)
            if chunks.count > 1 { FrameEncoder.append(.text, Array(String(chunks.count).utf8).span.bytes, to: &out) }
            for chunk in chunks { FrameEncoder.append(.text, message.extracting(chunk).bytes, to: &out) }
        }
    }
}
