import HearthDelivery
import HearthJSONValues
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSystem
import HearthServerProtocol

/// Sums up the requests to a database for watchers: equal requests since the last time become one line. It exists only
/// while there are watchers; without it, a request costs one check. On the databases' thread.
final class Profiler: RequestObserver {
    /// The maximum number of lines in one message; further ones are only counted.
    private static let linesMax = 500

    private struct Line: Hashable {
        var operation: String
        var path: Path
        var principal: Principal

        func json(_ sum: Sum) -> JSONObject {
            let uid: JSONValue? =
                principal.isAdministrator
                ? .text("administrator") : principal.uid.isEmpty ? nil : .string(principal.uid)
            func some(_ count: Int64) -> JSONValue? { count == 0 ? nil : .integer(count) }
            return JSONObject([
                "op": .text(operation), "path": .text("\(path)"), "uid": uid, "count": .integer(sum.count),
                "us": .integer(sum.nanoseconds / 1000), "wait": some(sum.waited / 1000), "bytes": .integer(sum.bytes),
                "denied": some(sum.denied),
                "failed": some(sum.failed), "unindexed": some(sum.unindexed),
            ])
        }
    }

    private struct Sum {
        var count: Int64 = 0
        /// Work of the database's thread, steps of scans included.
        var nanoseconds: Int64 = 0
        /// Until the answer was complete, beyond that.
        var waited: Int64 = 0
        var bytes: Int64 = 0
        var denied: Int64 = 0
        var failed: Int64 = 0
        var unindexed: Int64 = 0

        static func + (a: Sum, b: Sum) -> Sum {
            Sum(
                count: a.count + b.count, nanoseconds: a.nanoseconds + b.nanoseconds, waited: a.waited + b.waited,
                bytes: a.bytes + b.bytes, denied: a.denied + b.denied, failed: a.failed + b.failed,
                unindexed: a.unindexed + b.unindexed)
        }

        mutating func add(_ change: Change) {
            switch change {
            case .set(let assignment): bytes += Int64(assignment.value.bytes.count)
            case .merge(_, let assignments): bytes += assignments.reduce(0) { $0 + Int64($1.value.bytes.count) }
            case .setChildren(of: _, let children): bytes += Int64(children.bytes.count)
            }
        }

        mutating func add(_ reply: Reply) {
            switch reply {
            case .value(let value): bytes += Int64(value.bytes.count)
            case .failed(.denied): denied += 1
            case .failed: failed += 1
            case .done, .listening, .listeningUnindexed, .listeningAt, .explained: break
            }
        }
    }

    var watchers: Set<ConnectionID> = []
    private var start = MonotonicTime.current
    private var sums: [Line: Sum] = [:]
    private var others: Int64 = 0

    func begin() { start = MonotonicTime.current }

    // MARK: Work before a request's turn

    private struct RequestName: Hashable {
        let connection: ConnectionID
        let number: Int64

        init(_ request: Request) { (connection, number) = (request.connection, request.number) }
    }

    private struct Preparation {
        var since: MonotonicTime?
        var nanoseconds: Int64 = 0
        /// The part of these before it had to wait.
        var nanosecondsBefore: Int64 = 0
    }

    private var preparations: [RequestName: Preparation] = [:]

    func park(_ request: Request) {
        // Those that came before there were watchers are not known, and one is parked again by a scan of its own.
        let name = RequestName(request)
        var preparation = preparations[name] ?? Preparation()
        guard preparation.since == nil else { return }
        preparation.since = MonotonicTime.current
        preparation.nanosecondsBefore = preparation.nanoseconds
        preparations[name] = preparation
    }

    func beginStep() { start = MonotonicTime.current }

    func endStep(for request: Request?) {
        guard let request else { return }
        preparations[RequestName(request), default: Preparation()].nanoseconds += elapsed
    }

    private var elapsed: Int64 { MonotonicTime.current.nanoseconds - start.nanoseconds }

    // MARK: Large reads

    /// A request that was answered by a stream, which is not over.
    private struct LargeRead {
        var line: Line
        var sum: Sum
        let since: MonotonicTime
        var stream: SnapshotStream?
    }

    private var largeReads: [UInt64: LargeRead] = [:]

    func follow(_ stream: SnapshotStream) { largeReads[stream.read.id]?.stream = stream }

    /// Adds up the reads whose streams are over.
    private func endLargeReads() {
        for (id, read) in largeReads {
            guard let stream = read.stream, stream.isOver else { continue }
            var sum = read.sum
            sum.bytes += Int64(stream.byteCount)
            sum.waited += MonotonicTime.current.nanoseconds - read.since.nanoseconds
            add(sum, to: read.line)
            largeReads[id] = nil
        }
    }

    // MARK: Summing up

    private func add(_ sum: Sum, to line: Line) {
        guard let known = sums[line] else {
            if sums.count < Self.linesMax { sums[line] = sum } else { others += sum.count }
            return
        }
        sums[line] = known + sum
    }

    func end(_ request: Request, _ outputs: ArraySlice<Output>, isUnindexed: Bool) {
        let worked = elapsed
        if case .disconnect = request.operation {
            // Its requests are no longer answered.
            preparations = preparations.filter { $0.key.connection != request.connection }
        }
        let preparation = preparations.removeValue(forKey: RequestName(request))
        guard let (operation, path) = request.operation.name, !watchers.contains(request.connection) else { return }
        let line = Line(operation: operation, path: path, principal: request.principal)
        var sum = Sum()
        var read: UInt64?
        sum.count = 1
        sum.nanoseconds = worked + (preparation?.nanoseconds ?? 0)
        if let preparation, let since = preparation.since {
            let worked = sum.nanoseconds - preparation.nanosecondsBefore
            sum.waited = max(0, MonotonicTime.current.nanoseconds - since.nanoseconds - worked)
        }
        sum.bytes = Int64(request.byteCount)
        if isUnindexed { sum.unindexed += 1 }
        for output in outputs {
            switch output {
            case .initial(_, _, let value, _): sum.bytes += Int64(value.bytes.count)
            case .initialQuery(_, let push): if case .change(let change) = push.content { sum.add(change) }
            case .reply(request.connection, request.number, let reply): sum.add(reply)
            case .stream(let large): read = large.id
            default: break
            }
        }
        if let read {
            largeReads[read] = LargeRead(line: line, sum: sum, since: MonotonicTime.current)
        } else {
            add(sum, to: line)
        }
    }

    /// Tells the watchers.
    func flush(_ host: DatabaseHost) {
        guard let lines = takeLines() else { return }
        var message: [UInt8] = []
        ServerMessageWriter.appendProfile(JSONValue.array(lines).bytes, to: &message)
        host.push(message, to: watchers)
    }

    /// The lines, the most expensive first; nil if there are none.
    func takeLines() -> [JSONValue]? {
        endLargeReads()
        if sums.isEmpty { return nil }
        var lines = sums.sorted { $0.value.nanoseconds > $1.value.nanoseconds }.map {
            JSONValue.object($0.key.json($0.value))
        }
        if others > 0 { lines.append(.object(JSONObject(["others": .integer(others)]))) }
        sums.removeAll(keepingCapacity: true)
        others = 0
        return lines
    }
}

extension Operation {
    /// The kind and the place of a request; nil if it does not concern the database's users.
    fileprivate var name: (String, Path)? {
        switch self {
        case .set(let target, _, let expected, _): (expected == nil ? "set" : "transaction", target.path)
        case .update(let base, _), .setChildren(let base, _): ("update", base)
        case .get(let path, let query, _): (query == nil ? "get" : "query", path)
        case .describe(let path, let page): (page.isCount ? "count" : "children", path)
        case .listen(let path, _, _, _): ("listen", path)
        case .listenQuery(let path, _, _, _, _, _): ("listen query", path)
        case .unlisten(let path): ("unlisten", path)
        case .onDisconnect(let entries): ("on disconnect", entries.first?.target.path ?? .root)
        case .job(let path, _): ("job", path)
        case .cancelOnDisconnect(let path): ("cancel on disconnect", path)
        case .unlistenQuery, .dropListener, .become, .relay, .explain, .forfeit, .disconnect: nil
        }
    }
}
