import HearthTreeText
import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("queues of jobs")
struct QueueTests {
    private static let settings = #"{"settings":{"$shop":{"mail":{".queue":{"at":"at","attempts":2}}}}}"#
    private static let queue: Path = "s/mail"
    private static let one = JobOperation.claim(count: 1, lease: nil, wait: .none)
    private static let patient = JobOperation.claim(count: 1, lease: nil, wait: .milliseconds(5000))

    private static func bench(_ settings: String = settings, rules: String? = nil) throws -> DatabaseBench {
        var bench = DatabaseBench()
        let program = try rules.map { try RulesProgram(parsing: Array($0.utf8)) } ?? .open
        bench.database.setRules(program.with(try DatabaseSettings(parsing: Array(settings.utf8))), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        _ = bench.commit()
        return bench
    }

    private static func process(_ bench: inout DatabaseBench, _ requests: [Request], at now: Int64) -> [String] {
        if let record = bench.database.process(requests, now: now) { bench.log.append(record) }
        return bench.commit()
    }

    @Test("hand out jobs with their state, which a stock listener sees; nobody else writes it")
    func states() throws {
        var bench = try Self.bench()
        bench.process(.set("s/mail/jobs/a", #"{"to":"ann"}"#), .listen("s/mail/state", known: nil))
        _ = bench.commit()
        bench.process(.job(Self.queue, Self.one))
        #expect(
            bench.commit() == [
                #"push s/mail/state/a {"attempts":1,"claim":2,"until":31000} to 1"#,
                #"3 {"count":1,"jobs":{"0":{"attempts":1,"claim":2,"key":"a","until":31000,"value":{"to":"ann"}}}}"#,
            ])
        bench.process(.set("s/mail/state/a", "null"))
        bench.process(.set("s/mail", #"{"state":{"a":1}}"#))
        #expect(bench.commit().allSatisfy { $0.contains("refusedBySetting") || $0.contains("queue") })
        #expect(try bench.database.rows.read("s/mail/state/a").childCount == 3)
        // The state goes with its job, in one commit.
        bench.process(.set("s/mail/jobs/a", "null"))
        #expect(try bench.database.rows.read("s") == "null")
        bench.process(.job("elsewhere", Self.one), .job("s", Self.one))
        #expect(bench.commit().suffix(2).allSatisfy { $0.contains("There is no queue at") })
    }

    @Test("keep workers waiting in their order, until there is a job, the time of one has come, or theirs is over")
    func waiting() throws {
        var bench = try Self.bench()
        let connections = (0..<3).map { ConnectionID(loop: 1, kind: .realtime, serial: 10 + $0) }
        let requests = connections.map { Request(connection: $0, number: 1, operation: .job(Self.queue, Self.patient)) }
        #expect(Self.process(&bench, requests, at: 1000) == [])
        #expect(bench.database.workers.claims.count == 3)
        #expect(!bench.database.hasReadyClaims(at: 5999))
        #expect(!bench.database.isAtRest)
        bench.process(.set("s/mail/jobs/a", "1"), .set("s/mail/jobs/b", #"{"at":3000}"#), at: 2000)
        _ = bench.commit()
        #expect(bench.database.hasReadyClaims(at: 2000))
        let first = bench.database.takeReadyClaims(at: 2000)
        #expect(first.map(\.connection) == [connections[0]])
        #expect(Self.process(&bench, first, at: 2000).last?.contains(#""key":"a""#) == true)
        #expect(bench.database.takeReadyClaims(at: 2999).isEmpty)
        let second = bench.database.takeReadyClaims(at: 3000)
        #expect(second.map(\.connection) == [connections[1]])
        #expect(Self.process(&bench, second, at: 3000).last?.contains(#""key":"b""#) == true)
        let third = bench.database.takeReadyClaims(at: 6000)
        #expect(Self.process(&bench, third, at: 6000) == [#"1 {"count":0}"#])
        #expect(bench.database.workers.claims.isEmpty)
        // No request waits for a connection that has ended, and a server that ends leaves no request waiting.
        let late = connections.map { Request(connection: $0, number: 2, operation: .job(Self.queue, Self.patient)) }
        _ = Self.process(&bench, late, at: 6000)
        bench.process(.disconnect, by: connections[0], at: 6000)
        _ = bench.commit()
        bench.database.endClaims(now: 6000)
        #expect(bench.takeReady() == [#"2 {"count":0}"#, #"2 {"count":0}"#])
    }

    @Test("find jobs that were there before the setting")
    func building() throws {
        var bench = DatabaseBench()
        bench.process(.set("s/mail/jobs", #"{"1":1,"a":{"at":5},"b":2}"#))
        _ = bench.commit()
        bench.database.setRules(
            RulesProgram.open.with(try DatabaseSettings(parsing: Array(Self.settings.utf8))), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex(childrenMax: 1) }
        bench.process(.job(Self.queue, .claim(count: 3, lease: nil, wait: .none)))
        let answer = try #require(bench.commit().last)
        #expect(answer.matches(of: /"key":"(.)"/).map { String($0.1) } == ["a", "1", "b"])
    }

    @Test("let those work who may write the states and read the jobs")
    func rules() throws {
        let rules = """
            {"rules":{"$shop":{"mail":{
              "jobs": {".read": "auth.uid === 'w'", ".write": true},
              "state": {".write": "auth.uid === 'w' || auth.uid === 'blind'"},
              "dead": {".read": true}
            }}, "sent": {".write": "newData.isNumber()"}}}
            """
        var bench = try Self.bench(rules: rules)
        func run(_ uid: String?, _ operation: JobOperation) throws -> String {
            let principal = try uid.map { try Principal(auth: Array(#"{"uid":"\#($0)"}"#.utf8)) } ?? .nobody
            bench.process(.job(Self.queue, operation), as: principal)
            return try #require(bench.commit().last)
        }
        bench.process(.set("s/mail/jobs/a", "1"))
        _ = bench.commit()
        for uid in [nil, "x", "blind"] { #expect(try run(uid, Self.one).contains("denied"), "\(uid ?? "nobody")") }
        #expect(try run("w", Self.one).contains(#""claim":2"#))
        #expect(try bench.database.rows.read("s/mail/state/a/worker") == #""w""#)
        let key = try Key(validating: "a")
        #expect(try run("x", .done(key, claim: 2, [])).contains("denied"))
        let text = IncomingValue(json: #""x""#)
        #expect(try run("w", .done(key, claim: 2, [(WriteTarget(path: "sent"), text)])).contains("denied"))
        #expect(try run("w", .done(key, claim: 2, [(WriteTarget(path: "s/mail/jobs/a/b"), text)])).contains("refused"))
        #expect(try bench.database.rows.read("s/mail/jobs/a") == "1")
        _ = try run("w", .done(key, claim: 2, [(WriteTarget(path: "sent"), IncomingValue(json: "5"))]))
        #expect(try bench.database.rows.read("") == #"{"sent":5}"#)
        #expect(try run("w", .done(key, claim: 2, [])).contains("job_gone"))
    }

    @Test("are counted by their setting: what was handed out, and what became of it")
    func counts() throws {
        var bench = try Self.bench()
        func tell() -> String {
            bench.database.queueStatus.map {
                let tally = $0.tally
                return """
                    \($0.pattern.text) \(tally.claimed) \(tally.done) \(tally.failed) \(tally.abandoned) \(tally.dead) \
                    \($0.waitingWorkers)
                    """
            }.joined()
        }
        #expect(tell() == "$/mail 0 0 0 0 0 0")
        bench.process(.set("s/mail/jobs", #"{"a":1,"b":2}"#), .set("t/mail/jobs/c", "3"))
        bench.process(.job("s/mail", .claim(count: 2, lease: 1000, wait: .none)), .job("t/mail", Self.one))
        #expect(tell() == "$/mail 3 0 0 0 0 0")
        let (a, c) = (try Key(validating: "a"), try Key(validating: "c"))
        let claims = try ["s/mail/state/a/claim", "t/mail/state/c/claim"].map {
            try #require(Int64(bench.database.rows.read($0).description))
        }
        bench.process(.job("s/mail", .done(a, claim: claims[0], [])), .job("s/mail", .done(a, claim: claims[0], [])))
        bench.process(.job("t/mail", .fail(c, claim: claims[1], error: [], .never)))
        #expect(tell() == "$/mail 3 1 1 0 1 0")
        // There was no message about b.
        bench.process(.job("s/mail", .claim(count: 1, lease: 1000, wait: .none)), at: 3000)
        #expect(tell() == "$/mail 4 1 1 1 1 0")
        bench.process(.job("s/mail", .claim(count: 1, lease: 1000, wait: .milliseconds(9))), at: 5000)
        #expect(tell() == "$/mail 4 1 1 2 2 1")
    }

    @Test("double the pause after each failure, up to the longest, with a fifth more or less")
    func backoff() {
        let queue = QueueDefinition(pattern: .init(), backoff: 1000, longestBackoff: 60_000)
        for seed in 0..<200 as Range<UInt64> {
            for (attempts, expected) in [(1, 1000), (2, 2000), (5, 16_000), (7, 60_000), (1000, 60_000)] {
                let delay = queue.delay(afterAttempts: attempts, seed: seed)
                #expect((expected * 8 / 10...expected * 12 / 10).contains(Int(delay)), "\(attempts) \(seed)")
            }
        }
        #expect(Set((0..<50).map { queue.delay(afterAttempts: 1, seed: $0) }).count > 20)
    }

    @Test("are read from the settings, whose mistakes are told")
    func parsing() throws {
        func mistake(_ text: String) -> String {
            do throws(RulesError) {
                _ = try DatabaseSettings(parsing: Array(text.utf8))
                return ""
            } catch { return "\(error)" }
        }
        let settings = try DatabaseSettings(
            parsing: Array(#"{"settings":{"q":{".queue":{"lease":5000,"attempts":3,"backoff":7200000}}}}"#.utf8))
        let queue = try #require(settings.queues.first)
        #expect(queue.lease == 5000)
        #expect(queue.attempts == 3)
        #expect(queue.longestBackoff == 7_200_000)
        #expect(queue.at == nil)
        #expect(settings.summary == "1 .queue")
        #expect(mistake(#"{"settings":{"q":{".queue":true}}}"#).contains("'.queue' is an object"))
        #expect(mistake(#"{"settings":{"q":{".queue":{"lease":5}}}}"#).contains("from 1000 to 43200000"))
        #expect(mistake(#"{"settings":{"q":{".queue":{"tries":5}}}}"#).contains("tries"))
        #expect(mistake(#"{"settings":{"q":{".queue":{}, "jobs":{"$x":{".queue":{}}}}}}"#).contains("another one"))
        #expect(
            mistake(#"{"settings":{"q":{".queue":{}},".count":{"of":"a","into":"q/jobs/n"}}}"#).contains("'into'"))
    }
}
