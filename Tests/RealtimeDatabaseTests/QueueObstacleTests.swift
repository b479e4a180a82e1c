import HearthTreeText
import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("queues, and what stands in the way of their jobs")
struct QueueObstacleTests {
    private static let one = JobOperation.claim(count: 1, lease: 1000, wait: .none)
    private static let patient = JobOperation.claim(count: 1, lease: 1000, wait: .milliseconds(60_000))

    private static func bench(_ settings: String) throws -> DatabaseBench {
        var bench = DatabaseBench()
        let parsed = try DatabaseSettings(parsing: Array(#"{"settings":\#(settings)}"#.utf8))
        bench.database.setRules(RulesProgram.open.with(parsed), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        _ = bench.commit()
        return bench
    }

    private static func run(_ bench: inout DatabaseBench, _ operation: Operation, at now: Int64) -> [String] {
        bench.process(operation, at: now)
        return bench.commit()
    }

    private static func user(_ uid: String) throws -> Principal {
        try Principal(auth: Array(#"{"uid":"\#(uid)"}"#.utf8))
    }

    @Test("a dead letter that a setting refuses keeps no other job waiting")
    func refusedLetter() throws {
        var bench = try Self.bench(#"{"q":{".queue":{"attempts":1},"dead":{".maxChildren":1}}}"#)
        _ = Self.run(&bench, .set("q/jobs", #"{"a":1,"b":2,"c":3,"d":4}"#), at: 1000)
        _ = Self.run(&bench, .job("q", .claim(count: 2, lease: 1000, wait: .none)), at: 1000)
        let answer = try #require(Self.run(&bench, .job("q", Self.one), at: 3000).last)
        #expect(answer.contains(#""key":"c""#), "\(answer)")
        #expect(try bench.database.rows.read("q/dead").children.map { "\($0.key)" } == ["a"])
        #expect(try bench.database.rows.read("q/jobs") == #"{"b":2,"c":3,"d":4}"#)
        #expect(try bench.database.rows.read("q/state/b/error") == #""the lease ended""#)
        // The same for a worker that gives up.
        let claim = try #require(Int64(bench.database.rows.read("q/state/c/claim").description))
        let failure = JobOperation.fail(try Key(validating: "c"), claim: claim, error: Array("no".utf8), .never)
        #expect(Self.run(&bench, .job("q", failure), at: 3000).last?.contains("done") == true)
        #expect(Self.run(&bench, .job("q", Self.one), at: 9000).last?.contains(#""key":"d""#) == true)
        let answers = Self.run(&bench, .job("q", Self.one), at: 10_000_000)
        #expect(answers.last?.contains(#"{"count":0}"#) == true, "\(answers)")
    }

    @Test("a claim copies about a MiB of dead jobs, and comes back for the others")
    func copiedBytes() throws {
        var bench = try Self.bench(#"{"q":{".queue":{"attempts":1}}}"#)
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 200_000))
        for number in 0..<10 {
            let target = WriteTarget(path: try Path(parsing: "q/jobs/j\(number)"))
            _ = Self.run(&bench, .set(target, IncomingValue(json: text)), at: 1000)
        }
        for _ in 0..<2 { _ = Self.run(&bench, .job("q", .claim(count: 10, lease: 1000, wait: .none)), at: 1000) }
        _ = Self.run(&bench, .set("q/jobs/last", "1"), at: 2500)
        #expect(Self.run(&bench, .job("q", Self.patient), at: 3000).isEmpty)
        #expect(try bench.database.rows.read("q/dead").childCount == 6)
        #expect(bench.database.hasReadyClaims(at: 3000))
        let claims = bench.database.takeReadyClaims(at: 3000)
        if let record = bench.database.process(claims, now: 3000) { bench.log.append(record) }
        #expect(bench.commit().last?.contains(#""key":"last""#) == true)
        #expect(try bench.database.rows.read("q/dead").childCount == 10)
    }

    @Test("a job that has expired is not handed out, even if many others have")
    func expired() throws {
        var bench = try Self.bench(
            #"{"old":{".expires":"until"},"q":{".queue":{},"jobs":{".expires":"until"}}}"#)
        let many = (0..<82).map { #""k\#($0)":{"until":5000}"# }.joined(separator: ",")
        let old = IncomingValue(json: try CanonicalJSON.parse(Array("{\(many)}".utf8)).value)
        _ = Self.run(&bench, .set(WriteTarget(path: "old"), old), at: 1000)
        _ = Self.run(&bench, .set("q/jobs", #"{"a":{"until":6000},"b":{"until":60000}}"#), at: 1000)
        let worker = try Self.user("w")
        bench.process(.job("q", Self.one), as: worker, at: 7000)
        let answer = try #require(bench.commit().last)
        #expect(answer.contains(#""key":"b""#), "\(answer)")
        #expect(try bench.database.rows.read("old").childCount == 50)
        #expect(try bench.database.rows.read("q/jobs") == #"{"b":{"until":60000}}"#)
        #expect(try bench.database.rows.read("q/state/b/worker") == #""w""#)
    }

    @Test("what is written with the end of a job keeps nothing of a child that has expired")
    func expiredTarget() throws {
        var bench = try Self.bench(#"{"old":{".expires":"until"},"q":{".queue":{}}}"#)
        let many = (100..<200).map { #""k\#($0)":{"n":5,"until":5000}"# }.joined(separator: ",")
        let old = IncomingValue(json: try CanonicalJSON.parse(Array("{\(many)}".utf8)).value)
        _ = Self.run(&bench, .set(WriteTarget(path: "old"), old), at: 1000)
        _ = Self.run(&bench, .set("q/jobs/a", "1"), at: 1000)
        _ = Self.run(&bench, .job("q", .claim(count: 1, lease: 60_000, wait: .none)), at: 1000)
        let increment = IncomingValue(json: #"{".sv":{"increment":1}}"#, hasServerValues: true)
        let entries = [(target: WriteTarget(path: "old/k199/n"), value: increment)]
        let answers = Self.run(&bench, .job("q", .done(try Key(validating: "a"), claim: 3, entries)), at: 7000)
        #expect(answers.last?.contains("done") == true, "\(answers)")
        #expect(try bench.database.rows.read("old/k199") == #"{"n":1}"#)
    }

    // MARK: Damaged rows

    /// A database anew, with jobs of which some rows cannot be read.
    private static func damagedBench(
        _ settings: String, _ jobs: [String], claimed: Int = 0, damaged paths: [String]
    ) throws -> DatabaseBench {
        let parsed = try DatabaseSettings(parsing: Array(#"{"settings":\#(settings)}"#.utf8))
        // Each value has a row.
        var bench = DatabaseBench(packing: RowPacking(packedBytesMax: 3, repackBytesMax: 2))
        bench.database.setRules(RulesProgram.open.with(parsed), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        while bench.database.isCounting { _ = try bench.database.countSome(now: 0) }
        let text = jobs.map { #""\#($0)":{"m":1,"n":2,"until":5000}"# }.joined(separator: ",")
        bench.process(.set("q/jobs", try CanonicalJSON.parse(Array("{\(text),\"last\":1}".utf8)).value))
        if claimed > 0 { bench.process(.job("q", .claim(count: claimed, lease: 1000, wait: .none))) }
        _ = bench.commit()
        try bench.applyAll()
        bench.store.damagedKeys = Set(try paths.map { try Path(parsing: $0).encoded })
        let again = try DatabaseBench.reopened(bench.store, sequence: bench.database.sequence, log: [])
        again.database.setRules(RulesProgram.open.with(parsed), now: 0)
        return again
    }

    /// The answer to workers that wait, if there is something to do.
    private static func wake(_ bench: inout DatabaseBench, at now: Int64) -> [String] {
        let claims = bench.database.takeReadyClaims(at: now)
        if let record = bench.database.process(claims, now: now) { bench.log.append(record) }
        return bench.commit()
    }

    @Test(
        "jobs of which a row is damaged keep no other waiting, and are handed out once they can be read",
        arguments: ["jobs/*/m", "jobs/*/n", "state/*/claim"])
    func damaged(place: String) throws {
        let jobs = (100..<160).map { "a\($0)" }
        let paths = jobs.map { "q/" + place.split(separator: "*").joined(separator: $0) }
        var bench = try Self.damagedBench(
            #"{"q":{".queue":{}}}"#, jobs, claimed: place.hasPrefix("state") ? jobs.count : 0, damaged: paths)
        let answer = try #require(Self.run(&bench, .job("q", Self.one), at: 5000).last)
        #expect(answer.contains(#""key":"last""#), "\(answer)")
        #expect(Self.run(&bench, .job("q", Self.one), at: 5000).last?.contains(#"{"count":0}"#) == true)
        _ = Self.run(&bench, .set("q/jobs/last", "null"), at: 5000)
        // A worker that waits looks again each second, and not before.
        #expect(Self.run(&bench, .job("q", Self.patient), at: 5000).isEmpty)
        #expect(!bench.database.hasReadyClaims(at: 5999))
        #expect(bench.database.hasReadyClaims(at: 6000))
        #expect(Self.wake(&bench, at: 6000).isEmpty)
        #expect(!bench.database.hasReadyClaims(at: 6999))
        bench.store.damagedKeys = []
        #expect(Self.wake(&bench, at: 7000).last?.contains(#""key":"a100""#) == true)
    }

    @Test("a job of which a row is damaged is given up after its last attempt, and stays where it is")
    func damagedLetter() throws {
        var bench = try Self.damagedBench(
            #"{"q":{".queue":{"attempts":1}}}"#, ["a"], claimed: 1, damaged: ["q/jobs/a/n"])
        _ = Self.run(&bench, .job("q", Self.one), at: 5000)
        let answer = try #require(Self.run(&bench, .job("q", Self.one), at: 5000).last)
        #expect(answer.contains(#""key":"last""#), "\(answer)")
        #expect(try bench.database.rows.read("q/state/a/at") == CanonicalJSON(integer: QueueDefinition.never))
        #expect(try bench.database.rows.read("q/dead") == .null)
        #expect(Self.run(&bench, .job("q", Self.one), at: 5500).last?.contains(#"{"count":0}"#) == true)
    }

    @Test("jobs that have expired and cannot be removed keep no other waiting, and no worker busy")
    func damagedAndExpired() throws {
        let jobs = (100..<160).map { "a\($0)" }
        let settings =
            #"{".sum":{"of":"q/jobs","value":"n","into":"t"},"q":{".queue":{},"jobs":{".expires":"until"}}}"#
        var bench = try Self.damagedBench(settings, jobs, damaged: jobs.map { "q/jobs/\($0)/n" })
        let answer = try #require(Self.run(&bench, .job("q", Self.one), at: 5000).last)
        #expect(answer.contains(#""key":"last""#), "\(answer)")
        _ = Self.run(&bench, .set("q/jobs/last", "null"), at: 5000)
        #expect(Self.run(&bench, .job("q", Self.patient), at: 5000).isEmpty)
        #expect(!bench.database.hasReadyClaims(at: 5000))
        #expect(try bench.database.rows.read("t") == "120")
        bench.store.damagedKeys = []
        for _ in 0..<4 { bench.process(at: 6001) }
        #expect(try bench.database.rows.read("").isNull)
    }

    @Test("a worker that becomes somebody else waits no longer as who it was")
    func becoming() throws {
        var bench = try Self.bench(#"{"q":{".queue":{}}}"#)
        let (ann, bob) = (try Self.user("ann"), try Self.user("bob"))
        bench.process(.job("q", Self.patient), as: ann)
        bench.process(.job("q", Self.patient), by: DatabaseBench.reader, as: ann)
        #expect(bench.commit() == [])
        // A newer token of the same user changes nothing.
        bench.process(.become(.done), as: try Self.user("ann"))
        #expect(bench.commit() == ["3 done"])
        bench.process(.become(.done), as: bob)
        #expect(bench.commit() == [#"1 {"count":0}"#, "4 done"])
        #expect(bench.database.workers.claims.count == 1)
    }

    @Test("a worker keeps waiting for the job that another one was to take and has not taken")
    func lostTurn() throws {
        var bench = try Self.bench(#"{"q":{".queue":{}}}"#)
        bench.process(.job("q", Self.patient))
        bench.process(.job("q", Self.patient), by: DatabaseBench.reader)
        _ = Self.run(&bench, .set("q/jobs/a", "1"), at: 1000)
        #expect(bench.database.takeReadyClaims(at: 1000).map(\.connection) == [DatabaseBench.writer])
        let next = bench.database.takeReadyClaims(at: 1000 + WaitingClaims.pause)
        #expect(next.map(\.connection) == [DatabaseBench.reader])
    }

    @Test("what is written with the end of a job is limited")
    func largeEnd() throws {
        var bench = try Self.bench(#"{"q":{".queue":{}}}"#)
        _ = Self.run(&bench, .set("q/jobs/a", "1"), at: 1000)
        _ = Self.run(&bench, .job("q", Self.one), at: 1000)
        let key = try Key(validating: "a")
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 600_000))
        let large = (0..<2).map { (target: WriteTarget(path: Path([Key($0)])), value: IncomingValue(json: text)) }
        let many = (0..<1001).map { (target: WriteTarget(path: Path([Key($0)])), value: IncomingValue(json: "1")) }
        for entries in [large, many] {
            let answer = Self.run(&bench, .job("q", .done(key, claim: 2, entries)), at: 1500).last
            #expect(answer?.contains("too_big") == true, "\(answer?.prefix(300) ?? "")")
        }
        #expect(try bench.database.rows.read("q/jobs/a") == "1")
        _ = Self.run(&bench, .job("q", .done(key, claim: 2, Array(many.dropLast()))), at: 1500)
        #expect(try bench.database.rows.read("").childCount == 1000)
    }

    @Test("the state of a job whose connection has ended keeps its worker, and the lease of who has it by now")
    func endedConnection() throws {
        var bench = try Self.bench(#"{"q":{".queue":{}}}"#)
        _ = Self.run(&bench, .set("q/jobs", #"{"a":1,"b":2}"#), at: 1000)
        let claim = JobOperation.claim(count: 2, lease: 60_000, wait: .none)
        bench.process(.job("q", claim), as: try Self.user("ann"))
        // An HTTP connection continues with one of them.
        let other = ConnectionID(loop: 0, kind: .http, serial: 9)
        bench.process(.job("q", .extend(try Key(validating: "b"), claim: 2, lease: 90_000)), by: other)
        bench.process(.disconnect)
        _ = bench.commit()
        let state = try bench.database.rows.read("q/state/a")
        #expect(state == #"{"attempts":1,"claim":2,"until":11000,"worker":"ann"}"#)
        #expect(try bench.database.rows.read("q/state/b/until") == "91000")
    }
}
