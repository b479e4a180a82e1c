import HearthDatabaseHost
import HearthEventLoop
package import HearthJSONTree
package import HearthRealtimeDatabase
import HearthServerLog
package import HearthSystem
package import HearthAccess

/// Notes on requests, for operators.
extension LoopContext {
    /// A request was answered: takes its time, and names it in the log if it was slow.
    package func noteAnswer(
        _ kind: RequestKind, at place: @autoclosure () -> Path?, since start: MonotonicTime, bytes: Int
    ) {
        let now = answeredAt ?? loop.now
        metrics.noteAnswer(kind, since: start, now: now)
        guard let limit = services.configuration.slowRequest, now - start >= limit else { return }
        let milliseconds = (now.nanoseconds - start.nanoseconds) / 1_000_000
        services.log.warning(
            "request.slow",
            [
                ("operation", "\(kind.name)"), ("path", place().map { "\($0)" } ?? ""),
                ("milliseconds", "\(milliseconds)"), ("bytes", "\(bytes)"),
            ])
    }

    /// An administrator is about to write, which the audit trail is told if it has a file of its own.
    package func noteWrite(
        _ operation: borrowing Operation, by authentication: Authentication, _ client: Client, in database: UInt32
    ) {
        guard services.trail.notesData, operation.writes, let administrator = authentication.administrator else {
            return
        }
        services.trail.note(
            AuditEvent(
                .data, client: client.network?.clientNetwork,
                [
                    ("by", administrator), ("database", services.directory.name(of: database)),
                    ("did", operation.kind.map { "\($0.name)" }), ("path", operation.place.map { "\($0)" }),
                ]))
    }
}

extension Operation {
    /// Where it reads or writes; nil if that is nowhere.
    package var place: Path? {
        switch self {
        case .set(let target, _, _, _): target.path
        case .update(let base, _), .setChildren(let base, _): base
        case .get(let path, _, _), .describe(let path, _), .listen(let path, _, _, _),
            .listenQuery(let path, _, _, _, _, _), .unlisten(let path), .cancelOnDisconnect(let path),
            .job(let path, _):
            path
        case .onDisconnect(let entries): entries.first?.target.path
        case .unlistenQuery, .dropListener, .become, .relay, .explain, .forfeit, .disconnect: nil
        }
    }
}
