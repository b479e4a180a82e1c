import EventLoop
import JSONWebTokens
import JSONTree
import RealtimeDatabase
import WireProtocol

/// Sums up what is asked of a database for those who watch: equal requests since the last time become one line. While
/// nobody watches, there is none, and a request costs one look for it. On the databases' thread.
final class Profiler: RequestObserver {
    /// Lines of one message; what is beyond them is counted only.
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
                "us": .integer(sum.nanoseconds / 1000), "bytes": .integer(sum.bytes), "denied": some(sum.denied),
                "failed": some(sum.failed), "unindexed": some(sum.unindexed),
            ])
        }
    }

    private struct Sum {
        var count: Int64 = 0
        var nanoseconds: Int64 = 0
        var bytes: Int64 = 0
        var denied: Int64 = 0
        var failed: Int64 = 0
        var unindexed: Int64 = 0

        mutating func add(_ change: Change) {
            bytes += change.assignments.reduce(0) { $0 + Int64($1.value.bytes.count) }
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

    func end(_ request: Request, _ outputs: ArraySlice<Output>, isUnindexed: Bool) {
        guard let (operation, path) = request.operation.name, !watchers.contains(request.connection) else { return }
        let line = Line(operation: operation, path: path, principal: request.principal)
        guard sums.count < Self.linesMax || sums[line] != nil else {
            others += 1
            return
        }
        var sum = sums[line] ?? Sum()
        sum.count += 1
        sum.nanoseconds += MonotonicTime.current.nanoseconds - start.nanoseconds
        sum.bytes += Int64(request.byteCount)
        if isUnindexed { sum.unindexed += 1 }
        for output in outputs {
            switch output {
            case .initial(_, _, let value, _): sum.bytes += Int64(value.bytes.count)
            case .initialQuery(_, let push): if case .change(let change) = push.content { sum.add(change) }
            case .reply(request.connection, request.number, let reply): sum.add(reply)
            default: break
            }
        }
        sums[line] = sum
    }

    /// Tells the watchers.
    func flush(_ host: DatabaseHost) {
        if sums.isEmpty { return }
        var lines = sums.sorted { $0.value.nanoseconds > $1.value.nanoseconds }.map {
            JSONValue.object($0.key.json($0.value))
        }
        if others > 0 { lines.append(.object(JSONObject(["others": .integer(others)]))) }
        sums.removeAll(keepingCapacity: true)
        others = 0
        var message: [UInt8] = []
        ServerMessageWriter.appendProfile(JSONValue.array(lines).bytes, to: &message)
        var frames: [UInt8] = []
        RealtimeFrames.append(message.span, to: &frames)
        for (loop, connections) in Dictionary(grouping: watchers, by: \.loop) {
            let entries = connections.map { LoopDelivery.Entry.frames($0, 0..<frames.count, answers: 0) }
            host.deliver(
                loop,
                LoopDelivery(bytes: frames, pushes: [], runs: [], entries: entries, backlogBytes: frames.count))
        }
    }
}

extension Operation {
    /// What it is called, and where it is; nil for what is no business of the database's users.
    fileprivate var name: (String, Path)? {
        switch self {
        case .set(let target, _, let expected, _): (expected == nil ? "set" : "transaction", target.path)
        case .update(let base, _): ("update", base)
        case .get(let path, let query, _): (query == nil ? "get" : "query", path)
        case .describe(let path, let page): (page.isCount ? "count" : "children", path)
        case .listen(let path, _, _, _): ("listen", path)
        case .listenQuery(let path, _, _, _, _, _): ("listen query", path)
        case .unlisten(let path): ("unlisten", path)
        case .onDisconnect(let entries): ("on disconnect", entries.first?.target.path ?? .root)
        case .cancelOnDisconnect(let path): ("cancel on disconnect", path)
        case .unlistenQuery, .dropListener, .become, .relay, .explain, .disconnect: nil
        }
    }
}
