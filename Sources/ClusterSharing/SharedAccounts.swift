import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthStorageErrors

/// The accounts of a cluster in its database: each commit is one update of the rows that it changes and of the head,
/// which the rules let pass only on top of the newest one (``ClusterRules``).
final class SharedAccounts: AccountSharing {
    let node: String
    private let database: ClusterDatabase

    private static let root = ClusterDatabase.path("accounts")
    private static let head = ClusterDatabase.path("accounts/head")
    /// Rows that are asked for at a time when all are read.
    private static let pageCount = 200
    /// Before something is proposed again.
    private static let pause = 50

    init(node: String, _ database: ClusterDatabase) {
        self.node = node
        self.database = database
    }

    // MARK: Reading the log

    func forEachCommit(
        after place: SharedCommit.Place, _ body: (SharedCommit, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> (sequence: UInt64, epoch: UInt64)? {
        try database.forEachOperation(after: place.sequence, epoch: place.epoch) { (operation) throws(StorageError) in
            if let commit = Self.commit(operation) { try body(commit, operation.sequence) }
        }
    }

    func hasHad(_ place: SharedCommit.Place) throws(StorageError) -> Bool {
        try database.hasHad(place.sequence, epoch: place.epoch)
    }

    private static func commit(_ operation: LoggedOperation) -> SharedCommit? {
        var commit = SharedCommit(version: 0, author: "", rows: [])
        for assignment in operation.assignments {
            guard let keys = assignment.target.path.suffix(after: root)?.texts else { continue }
            switch (keys.count, keys.first) {
            case (2, "head"):
                if keys[1] == "version" { commit.version = assignment.value.integer ?? 0 }
                if keys[1] == "author" { commit.author = text(assignment.value.string) }
            case (2, let table?):
                commit.rows.append(
                    SharedRow(table: table, key: Array(keys[1].utf8), columns: assignment.value.string))
            default: break
            }
        }
        return commit.version > 0 ? commit : nil
    }

    private static func text(_ utf8: [UInt8]?) -> String { String(decoding: utf8 ?? [], as: UTF8.self) }

    // MARK: Proposing

    func propose(_ commit: SharedCommit?, isRepeated: Bool, then: @escaping @Sendable (ProposalOutcome) -> Void) {
        // The answer of an update that the rules deny says how far this node has to be, as any other does.
        let update = commit.map(Self.update) ?? ClusterDatabase.question
        database.ask(update, as: .nobody, after: isRepeated ? Self.pause : 0) { [self] reply in
            switch reply {
            case .failed(.denied): readVersion(then)
            case .failed(.unavailable(let error)): then(.unknown(error))
            case .failed(let failure): then(.unknown(.overloaded(failure.message)))
            default: then(.taken)
            }
        }
    }

    private static func update(_ commit: SharedCommit) -> Operation {
        func entry(_ path: Path, _ value: CanonicalJSON) -> (target: WriteTarget, value: IncomingValue) {
            (WriteTarget(path: path), IncomingValue(json: value))
        }
        var entries = [
            entry(ClusterDatabase.path("accounts/head/version"), CanonicalJSON(integer: commit.version)),
            entry(ClusterDatabase.path("accounts/head/author"), CanonicalJSON(string: Array(commit.author.utf8))),
        ]
        for row in commit.rows {
            let path = ClusterDatabase.path("accounts/\(row.table)/\(text(row.key))")
            entries.append(entry(path, row.columns.map { CanonicalJSON(string: $0) } ?? .null))
        }
        return .update(base: root, entries)
    }

    private func readVersion(_ then: @escaping @Sendable (ProposalOutcome) -> Void) {
        readHead { head in
            guard let head else { return then(.unknown(.noQuorum)) }
            then(.refused(newest: head.version))
        }
    }

    private func readHead(_ then: @escaping @Sendable (SharedCommit?) -> Void) {
        database.ask(.get(Self.head)) { reply in
            guard case .value(let value) = reply else { return then(nil) }
            let members = (try? JSONValue(parsing: value.bytes))?.object
            then(
                SharedCommit(
                    version: members?["version"]?.integer ?? 0, author: members?["author"]?.text ?? "", rows: []))
        }
    }

    // MARK: Reading all

    func readAll(
        _ piece: @escaping @Sendable ([SharedRow]) -> Void,
        then: @escaping @Sendable (SharedCommit.Place?) -> Void
    ) {
        database.sequence { [self] sequence in
            guard let sequence else { return then(nil) }
            readHead { [self] head in
                guard let head else { return then(nil) }
                var place = SharedCommit.Place()
                // Later commits come with the log, whether or not the read includes them.
                (place.sequence, place.version, place.author) = (sequence, head.version, head.author)
                read(SharedRow.tables[...], after: nil, count: Self.pageCount, piece) { [place, database] isDone in
                    then(isDone && database.sync() ? place : nil)
                }
            }
        }
    }

    private func read(
        _ tables: ArraySlice<String>, after key: [UInt8]?, count: Int,
        _ piece: @escaping @Sendable ([SharedRow]) -> Void,
        _ then: @escaping @Sendable (Bool) -> Void
    ) {
        guard let table = tables.first else { return then(true) }
        let start = key.map { QueryBound(CanonicalJSON(string: $0), isInclusive: false) }
        guard let query = try? Query(index: .key, start: start, limit: QueryLimit(.first, count)) else {
            return then(false)
        }
        database.ask(.get(ClusterDatabase.path("accounts/\(table)"), query: query)) { [self] reply in
            if case .failed(.tooLarge) = reply, count > 1 {
                return read(tables, after: key, count: (count + 3) / 4, piece, then)
            }
            guard case .value(let page) = reply else { return then(false) }
            var rows: [SharedRow] = []
            for child in page.children {
                rows.append(SharedRow(table: table, key: child.key.utf8, columns: page.part(child.value).string))
            }
            if !rows.isEmpty { piece(rows) }
            let isLast = rows.count < count
            read(
                isLast ? tables.dropFirst() : tables, after: isLast ? nil : rows.last?.key, count: Self.pageCount,
                piece, then)
        }
    }
}

extension Path {
    /// Its keys as texts.
    fileprivate var texts: [String] { segments.map { String(decoding: key(at: $0).utf8, as: UTF8.self) } }
}
