import HearthJSONTree
import HearthTreeText
import HearthTreeQueries
import HearthSecurityRules
import HearthRealtimeDatabase

/// A database, and words for its outputs.
struct DatabaseBench {
    static let writer = ConnectionID(loop: 0, kind: .realtime, serial: 1)

    static let reader = ConnectionID(loop: 2, kind: .realtime, serial: 2)

    let store: MemoryRowStore
    let database: Database
    var log: [LogRecord] = []
    private var requests: Int64 = 0

    init(
        packing: RowPacking = .init(), store: MemoryRowStore = MemoryRowStore(), sequence: UInt64 = 0,
        largeBytesMin: Int = Operation.largeBytesMin
    ) {
        self.store = store
        database = Database(
            index: 7, store: store, sequence: sequence, largeBytesMin: largeBytesMin, packing: packing)
    }

    mutating func process(
        _ operations: Operation..., by connection: ConnectionID = Self.writer, as principal: Principal = .nobody,
        from client: UInt64 = 0, at now: Int64 = 1000
    ) {
        process(operations: operations, by: connection, as: principal, from: client, at: now)
    }

    mutating func process(
        operations: [Operation], by connection: ConnectionID = Self.writer, as principal: Principal = .nobody,
        from client: UInt64 = 0, at now: Int64 = 1000
    ) {
        let requests = operations.map { operation in
            self.requests += 1
            return Request(
                connection: connection, number: self.requests, principal: principal, operation: operation,
                client: client)
        }
        if let record = database.process(requests, now: now) { log.append(record) }
    }

    /// Another process has the same store and the log, of which it finds these records; the store has everything up to
    /// `sequence`.
    static func reopened(_ store: MemoryRowStore, sequence: UInt64, log: [LogRecord]) throws -> DatabaseBench {
        var bench = DatabaseBench(store: store, sequence: sequence)
        try bench.database.load()
        for record in log where record.lastSequence > sequence { try bench.database.replay(record.operations()) }
        bench.database.orphanAll()
        bench.process()
        return bench
    }

    /// The log gets everything; answers the outputs that may be sent now.
    mutating func commit() -> [String] {
        if let last = log.last { database.committed(through: last.lastSequence) }
        return takeReady()
    }

    func takeReady() -> [String] { database.takeReady().map(Self.words) }

    func applyAll() throws {
        database.freeze()
        while let frozen = database.takeFrozen() {
            store.apply(frozen.changes)
            if let generation = frozen.generation { database.applied(generation) }
        }
    }

    private static func words(_ push: QueryPush) -> String {
        switch push.content {
        case .change(let change): change.assignments.map(words).joined(separator: ", ")
        case .events(let events): events.map(words).joined(separator: ", ")
        }
    }

    private static func words(_ event: QueryEvent) -> String {
        switch event {
        case .value(let value): "value \(value)"
        case .child(let kind, let key, let value, let previous):
            "\(kind) \(Path(encoded: key)) \(value)" + (previous.map { " after \(Path(encoded: $0))" } ?? "")
        }
    }

    static func words(_ output: Output) -> String {
        switch output {
        case .push(.set(let assignment), let position, let groups):
            "push \(words(assignment)) to \(groups.count)" + words(position)
        case .push(.merge(let base, let assignments), let position, let groups):
            "push \(base) \(assignments.map(words).joined(separator: ", ")) to \(groups.count)" + words(position)
        case .push(.setChildren(of: let base, let children), let position, let groups):
            "push children of \(base) \(children) to \(groups.count)" + words(position)
        case .pushQuery(let push, _): "push \(push.form) \(words(push))"
        case .initialQuery(_, let push): "initial \(push.form) \(words(push))"
        case .missed(_, let update, _):
            "missed \(update.map { $0.change.assignments.map(words).joined(separator: ", ") } ?? "nothing")"
        case .initial(let connection, let path, let value, _): "initial \(path) \(value) to \(connection.loop)"
        case .initialParts(_, let path, let tag, let parts):
            "parts \(path) [\(parts.map(words).joined(separator: ", "))]" + (tag.map { " tag \($0)" } ?? "")
        case .hold(let connection): "hold \(connection.loop)"
        case .join(_, let connection): "join \(connection.loop)"
        case .leave(_, let connection): "leave \(connection.loop)"
        case .revoked(let connection, let path, _, let status):
            "revoke \(path) of \(connection.loop)" + (status.map { " \($0.text)" } ?? "")
        case .stream(let read): "stream \(read.path)"
        case .reply(_, let number, .explained(let told)): "\(number) \(told.lines(file: "rules"))"
        case .reply(_, let number, .done): "\(number) done"
        case .reply(_, let number, .listening): "\(number) listening"
        case .reply(_, let number, .listeningUnindexed): "\(number) listening unindexed"
        case .reply(_, let number, .listeningAt(let position, let recovered, _)):
            "\(number) listening\(words(position)) \(recovered ? "recovered" : "anew")"
        case .reply(_, let number, .value(let value)): "\(number) \(value)"
        case .reply(_, let number, .failed(.denied(let why))):
            "\(number) \(Failure.denied(why).message)\(why.isEmpty ? "" : " (\(why))")"
        case .reply(_, let number, .failed(let failure)): "\(number) \(failure)"
        }
    }

    private static func words(_ position: Position?) -> String { position.map { " at \($0.sequence)" } ?? "" }

    private static func words(_ part: CompoundHash.Difference) -> String {
        "\(part.after.map { "\"\($0)\"" } ?? "")…\(part.through.map { "\"\($0)\"" } ?? "") \(part.value)"
    }

    private static func words(_ assignment: Assignment) -> String {
        "\(String(decoding: assignment.target.text, as: UTF8.self)) \(assignment.value)"
    }
}

extension Operation {
    static func set(_ path: Path, _ value: CanonicalJSON, expecting: [UInt8]? = nil) -> Operation {
        .set(WriteTarget(path: path), IncomingValue(json: value), expecting: expecting)
    }

    static func setPriority(_ path: Path, _ priority: CanonicalJSON) -> Operation {
        .set(WriteTarget(path: path, isPriority: true), IncomingValue(json: priority))
    }

    static func update(_ base: Path, _ entries: [(String, CanonicalJSON)]) throws -> Operation {
        .update(
            base: base,
            try entries.map { (try WriteTarget(parsing: $0), IncomingValue(json: $1)) })
    }
}
