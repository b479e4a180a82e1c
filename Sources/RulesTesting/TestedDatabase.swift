import HearthJSONTree
import HearthTreeText
import HearthTreeQueries
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors

/// A database in memory, with the rules and settings of a test and a clock that the test moves. All that it decides is
/// decided by ``Database``, as in a server.
final class TestedDatabase {
    private let database: Database
    private var past: TestedPast
    /// Milliseconds since 1970.
    private(set) var now: Int64
    private var requestCount: Int64 = 0
    /// The claims that workers know of, by queue, key and worker.
    private var claims: [Claim: Int64] = [:]
    private var connections: [[UInt8]: ConnectionID] = [:]

    private struct Claim: Hashable {
        var queue: Path
        var key: [UInt8]
        var worker: [UInt8]
    }

    /// - parameter data: is there before the rules and settings are, so nothing refuses it.
    init(_ program: RulesProgram, _ data: CanonicalJSON, now: Int64) {
        database = Database(index: 0, store: EmptyRowStore(), sequence: 0)
        self.now = now
        past = TestedPast(program.settings.histories)
        if !data.isNull {
            let value = IncomingValue(json: data, hasServerValues: true)
            _ = ask(.set(WriteTarget(path: .root), value), by: .administrator)
        }
        database.setRules(program, now: now)
        // A store in memory can always be read.
        while database.isBuildingIndex { try? database.buildIndex(childrenMax: .max) }
        while database.isCounting { _ = try? database.countSome(childrenMax: .max, now: now) }
        finish()
        removeExpired()
        _ = takeEvents()
        past.begin(with: value(at: .root), at: now)
    }

    var coverage: RulesCoverage? {
        get { database.coverage }
        set { database.coverage = newValue }
    }

    // MARK: Time

    func move(to time: Int64) {
        now = max(now, time)
        removeExpired()
    }

    private func removeExpired() { while database.hasExpired(at: now) { process([]) } }

    // MARK: Requests

    /// Does an operation of somebody.
    ///
    /// - parameter worker: whose connection it comes on.
    func ask(
        _ operation: Operation, by principal: Principal, client: UInt64 = 0, worker: [UInt8] = []
    ) -> Reply {
        requestCount += 1
        let connection =
            connections[worker] ?? ConnectionID(loop: 0, kind: .realtime, serial: UInt64(connections.count + 1))
        connections[worker] = connection
        let request = Request(
            connection: connection, number: requestCount, principal: principal, operation: operation, client: client)
        for case .reply(connection, number: requestCount, let reply) in process([request]) { return reply }
        // Only values that do not fit in memory are answered otherwise.
        return .failed(.tooLarge)
    }

    @discardableResult
    private func process(_ requests: [Request]) -> [Output] {
        if let record = database.process(requests, now: now), let operations = try? record.operations() {
            past.add(operations, at: now)
        }
        return finish()
    }

    /// The log has everything.
    @discardableResult
    private func finish() -> [Output] {
        database.committed(through: database.sequence)
        return database.takeReady()
    }

    /// The operation by which a worker asks, with the number of its last claim of the job.
    func operation(_ work: RulesTest.Work, at queue: Path) -> JobOperation {
        func claim(_ key: Key) -> Int64 { claims[Claim(queue: queue, key: key.utf8, worker: work.worker)] ?? 0 }
        return switch work.kind {
        case .claim(let count): .claim(count: count, lease: work.lease, wait: .none)
        case .extend(let key): .extend(key, claim: claim(key), lease: work.lease)
        case .done(let key, let entries): .done(key, claim: claim(key), entries)
        case .fail(let key, let error, let retry): .fail(key, claim: claim(key), error: error, retry)
        case .giveBack(let key): .giveBack(key, claim: claim(key))
        }
    }

    /// The keys of the jobs that the answer to a claim hands to a worker, whose claims they are from now on.
    func take(jobsOf answer: CanonicalJSON, at queue: Path, by worker: [UInt8]) -> [[UInt8]] {
        let jobs = answer.value(at: Path(child: "jobs"))
        return jobs.children(in: jobs.range).map { child in
            let job = CanonicalJSON(trusted: Array(jobs.bytes[child.value]))
            let key = job.value(at: Path(child: "key")).stringUTF8 ?? []
            let claim = job.value(at: Path(child: "claim"))
            claims[Claim(queue: queue, key: key, worker: worker)] = claim.number(in: claim.range).map {
                Int64($0.double)
            }
            return key
        }
    }

    /// The decision of the rules and settings on an operation, which is not made.
    func explain(_ operation: Operation, by principal: Principal) -> Explanation {
        if principal.isAdministrator { return .withoutRules }
        guard case .explained(let told) = ask(.explain(operation, as: principal), by: .administrator) else {
            return .withoutRules
        }
        return told
    }

    /// Answers a question about the past of a place.
    func readPast(
        _ path: Path, _ question: PastQuestion, by principal: Principal, client: UInt64
    ) throws(TestedPast.Refusal) -> CanonicalJSON {
        do throws(Failure) {
            try database.admitToHistory(of: path, by: principal, from: client, now: now)
        } catch {
            throw .notAdmitted(error)
        }
        let value: CanonicalJSON
        switch question {
        case .value(let time): value = try past.value(at: path, time, now: now)
        // The restored value is not in the answer.
        case .whole(let time): return try past.wholeValue(at: path, time, now: now)
        case .differences(let start, let end):
            value = try past.differences(at: path, start, end ?? now, now: now)
        }
        do throws(Failure) {
            try database.countBytesRead(value.byteCountRead, at: path, by: principal, from: client, now: now)
        } catch {
            throw .notAdmitted(error)
        }
        return value
    }

    // MARK: Looking

    /// The value at a place, as administrators see it.
    func value(at path: Path) -> CanonicalJSON {
        if case .value(let value) = ask(.get(path), by: .administrator) { value } else { .null }
    }

    /// Events of triggers since the last call.
    func takeEvents() -> [TriggerEvent] {
        database.takeFreshEvents().compactMap { row in try? TriggerEvent(stored: row.event) }
    }
}
