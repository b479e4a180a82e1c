import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthDatabaseScheduler
@testable import HearthRealtimeDatabase

@Suite("A worker that waits for a job")
struct WaitingWorkerTests {
    /// Carries out what concerns the log; the test says when steps are made.
    private final class Host {
        var scheduler: DatabaseScheduler
        var wall: Int64 = 1000
        private var uptime: Int64 = 1000
        var hasStep = false

        init() throws {
            let database = Database(index: 0, store: EmptyRowStore(), sequence: 0)
            let settings = try DatabaseSettings(parsing: Array(#"{"settings":{"q":{".queue":{"at":"at"}}}}"#.utf8))
            database.setRules(RulesProgram.open.with(settings), now: 0)
            scheduler = DatabaseScheduler(
                database: database, limits: DatabaseLimits(), lastTime: 0, isClearing: false,
                at: Conditions(wall: 1, uptime: 1), nanoseconds: { 0 })
            handle(.opened)
            step()
        }

        func handle(_ event: Event) {
            var actions: [Action] = []
            scheduler.handle(event, at: Conditions(wall: wall, uptime: uptime), into: &actions)
            for action in actions {
                switch action {
                case .append(let record): handle(.committed(through: record.lastSequence))
                case .step: hasStep = true
                default: break
                }
            }
        }

        /// Lets time pass, as both clocks show it.
        func pass(_ time: Int64) {
            wall += time
            uptime += time
            handle(.tick(Int(uptime)))
            step()
        }

        func ask(_ serial: UInt64, _ operation: Operation) {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: serial)
            handle(.requests([Request(connection: connection, number: 1, operation: operation, client: serial)]))
        }

        func step() {
            while hasStep {
                hasStep = false
                handle(.step)
            }
        }
    }

    private static let day: Int64 = 86_400_000

    @Test("waits for as long as it asked, though the clock is set", arguments: [-day, -50_000, -5_000, 30_000, day])
    func clock(change: Int64) throws {
        let host = try Host()
        host.pass(Self.day * 20_000)
        host.ask(1, .job("q", .claim(count: 1, lease: nil, wait: .milliseconds(60_000))))
        host.step()
        host.pass(30_000)
        host.wall += change
        for _ in 0..<29 { host.pass(1_000) }
        #expect(host.scheduler.database.workers.claims.count == 1)
        host.pass(1_200)
        #expect(host.scheduler.database.workers.claims.isEmpty)
    }

    @Test("gets a job whose time has come because the clock was set")
    func dueByClock() throws {
        let host = try Host()
        host.pass(Self.day * 20_000)
        let time = host.wall + Self.day
        host.ask(2, .set(WriteTarget(path: "q/jobs/a"), IncomingValue(json: CanonicalJSON("{\"at\":\(time)}"))))
        host.ask(1, .job("q", .claim(count: 1, lease: nil, wait: .milliseconds(60_000))))
        host.step()
        host.pass(1_000)
        #expect(host.scheduler.database.workers.claims.count == 1)
        host.wall += Self.day
        host.pass(1_000)
        #expect(host.scheduler.database.workers.claims.isEmpty)
        #expect(try host.scheduler.database.rows.read("q/state/a/attempts") == "1")
    }

    @Test("gets no job while its end waits for its turn")
    func ending() throws {
        let host = try Host()
        host.ask(1, .job("q", .claim(count: 1, lease: nil, wait: .milliseconds(60_000))))
        host.ask(2, .set(WriteTarget(path: "q/jobs/a"), IncomingValue(json: #"{"at":2000}"#)))
        host.step()
        #expect(host.scheduler.database.workers.claims.count == 1)
        // A large write keeps others waiting.
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 300_000))
        host.wall = 2000
        host.ask(3, .set(WriteTarget(path: "x"), IncomingValue(json: text)))
        host.ask(1, .disconnect)
        host.handle(.tick(1))
        host.step()
        #expect(try host.scheduler.database.rows.read("q/state") == .null)
        #expect(host.scheduler.database.workers.claims.isEmpty)
    }
}
