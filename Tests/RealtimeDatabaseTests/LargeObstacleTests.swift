import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("A large write waits, is judged again, or fails")
struct LargeObstacleTests {
    private static func children(_ count: Int, text: String = "") -> CanonicalJSON {
        let members = (0..<count).map { #""c\#(10_000 + $0)":"\#($0)\#(text)""# }
        return CanonicalJSON(stringLiteral: "{\(members.joined(separator: ","))}")
    }

    private static func setChildren(of base: Path, _ count: Int) -> Operation {
        .setChildren(base, IncomingValue(json: children(count)))
    }

    /// The store removes old rows of `more`, and has a large value since.
    private static func clearingHost(rules: String? = nil) throws -> SteppedHost {
        let store = MemoryRowStore(deletedAtOnceMax: 10)
        let host = try SteppedHost(store, rules: rules, rowsAtOnceMax: 1000)
        host.keepsOldRows = true
        host.ask(1, .set(WriteTarget(path: "more"), IncomingValue(json: children(3000))), as: .administrator)
        for number in 1...20 { host.handle(.tick(number)) }
        host.finish()
        host.ask(2, .set(WriteTarget(path: "more"), IncomingValue(json: #"{"a":"1"}"#)), as: .administrator)
        for number in 21...40 { host.handle(.tick(number)) }
        host.finish()
        host.ask(3, .set(WriteTarget(path: "many"), IncomingValue(json: children(3000))), as: .administrator)
        for number in 41...60 { host.handle(.tick(number)) }
        host.finish()
        #expect(!store.clearing.isEmpty)
        return host
    }

    @Test("until the store has removed the old rows of its place, without a step, and is not too large for that")
    func oldRows() throws {
        let host = try Self.clearingHost()
        host.ask(7, Self.setChildren(of: "more", 3000), from: 2)
        #expect(host.goOn(times: 1000) == false)
        #expect(host.replies[7] == nil)
        // More than a turn has time for.
        for number: Int64 in 1000..<1400 { host.set(number, "small", "1", from: 3) }
        host.finish()
        #expect(host.replyOrder.last == 1399)
        #expect(host.replies[7] == nil)
        host.keepsOldRows = false
        host.finish()
        guard case .done? = host.replies[7] else {
            Issue.record("\(String(describing: host.replies[7]))")
            return
        }
        #expect(try host.value(at: "more/c12999") == #""2999""#)
        #expect(try host.value(at: "more/a") == #""1""#)
    }

    /// It is begun anew rather than made in a turn that finds the same again and again.
    @Test("and is judged again, though the rules were asked often, if they have denied it by data that changed")
    func outdatedDenial() throws {
        let rules = #"""
            {"rules": {".write": true, "more": {"$any": {
                ".validate": "root.child('open').val() === 'yes' || $any !== 'c12999'"}}}}
            """#
        let host = try Self.clearingHost(rules: rules)
        host.set(4, "open", #""no""#)
        host.ask(7, Self.setChildren(of: "more", 3000), from: 2)
        var changes = 0
        while host.database.pendingWrite.decisionCount < 3 {
            if changes < host.database.pendingWrite.decisionCount {
                // A step of it has looked at the place.
                let steps = host.steps
                while host.steps == steps { try #require(host.goOn()) }
                changes += 1
                host.set(100 + Int64(changes), "open", CanonicalJSON(integer: Int64(changes)), from: 3)
            }
            try #require(host.goOn())
        }
        host.finish()
        #expect(host.database.isDecisionDenied)
        #expect(host.database.pendingWrite.decisionCount == 3)
        host.set(5, "open", #""never""#, from: 3)
        host.finish()
        host.keepsOldRows = false
        host.goOn(times: 1000)
        guard case .failed(.denied)? = host.replies[7] else {
            Issue.record("\(String(describing: host.replies[7]))")
            return
        }
    }

    @Test("and the rules are asked from the beginning if they have denied increments by data that changed")
    func outdatedFirstDenial() throws {
        let rules = #"""
            {"rules": {".write": true, "more": {"$any": {".validate": "root.child('open').val() === 'yes'"}}}}
            """#
        let host = try Self.clearingHost(rules: rules)
        host.set(4, "open", #""no""#)
        let increment: CanonicalJSON = #"{".sv":{"increment":1}}"#
        let children = IncomingValue(json: Self.children(3000).setting(increment, at: "n"), hasServerValues: true)
        host.ask(7, .setChildren("more", children), from: 2)
        host.finish()
        #expect(host.database.isDecisionDenied)
        host.set(5, "open", #""never""#, from: 3)
        host.finish()
        host.keepsOldRows = false
        var asked = 0
        while host.replies[7] == nil, host.goOn() { asked = max(asked, host.database.pendingWrite.decisionCount) }
        host.finish()
        guard case .failed(.denied)? = host.replies[7] else {
            Issue.record("\(String(describing: host.replies[7]))")
            return
        }
        // Other decisions could have others wait at what they look at.
        #expect(asked == 0)
    }

    /// Otherwise others could keep it from being judged.
    @Test("and its first decision is made to the end, though others change what the rules look at")
    func firstDecision() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let rules = #"{"rules": {".write": true, "list": {"$any": {".validate": "root.child('open').val() !== 6"}}}}"#
        database.setRules(try RulesProgram(parsing: Array(rules.utf8)), now: 1000)
        func set(_ number: Int64, _ path: Path, _ value: CanonicalJSON) -> Request {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: UInt64(number))
            let operation = Operation.set(WriteTarget(path: path), IncomingValue(json: value, hasServerValues: true))
            return Request(connection: connection, number: number, operation: operation)
        }
        let increment: CanonicalJSON = #"{".sv":{"increment":3}}"#
        let sent = set(1, "list", Self.children(100).setting(increment, at: "n"))
        let examined = database.preparation(.examining, now: 1000).prepared(sent)
        #expect(database.beginReading(for: examined))
        #expect(try database.readSome { true })
        let known = try #require(database.knowingBases(examined))
        let resolved = database.preparation(.resolving, now: 1000).prepared(known)
        #expect(database.decideFirst(on: resolved, now: 1000) == .begun)
        #expect(!database.decideSome { false })
        for (number, path) in [(2, "open"), (3, "list/n")] as [(Int64, Path)] {
            #expect(database.process([set(number, path, "1")], now: 1000, readBytesMax: .max).waiting.isEmpty)
        }
        #expect(database.decideSome { true })
        #expect(database.decideFirst(on: resolved, now: 1000) == .outdated)
        // It may be made, and will be: others wait from now on.
        #expect(database.restart(resolved) == .anew)
        #expect(database.beginReading(for: examined))
        #expect(database.process([set(4, "list/n", "2")], now: 1000, readBytesMax: .max).waiting.count == 1)
    }

    @Test("and is judged in its turn, if the server has changed six times what the rules have looked at")
    func outdatedDecisions() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let rules = #"{"rules": {".write": true, "list": {"$any": {".validate": "root.child('open').val() !== 6"}}}}"#
        database.setRules(try RulesProgram(parsing: Array(rules.utf8)), now: 1000)
        func request(_ number: Int64, _ operation: Operation) -> Request {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: UInt64(number))
            return Request(connection: connection, number: number, operation: operation)
        }
        let list = request(10, .set(WriteTarget(path: "list"), IncomingValue(json: Self.children(100))))
        for number: Int64 in 1...6 {
            #expect(database.beginDecision(on: list, isLast: true, now: 1000))
            #expect(database.decideSome { true })
            #expect(!database.isDecisionDenied)
            let value = IncomingValue(json: CanonicalJSON(integer: number))
            let ending = [
                request(number, .onDisconnect([(WriteTarget(path: "open"), value)])), request(number, .disconnect),
            ]
            _ = database.process(ending, now: 1000)
        }
        #expect(!database.beginDecision(on: list, isLast: true, now: 1000))
        let (record, count, _) = database.process([list], now: 1000, readBytesMax: .max)
        #expect(count == 1)
        #expect(record == nil)
        #expect(database.takeDenials().map(\.path) == ["list"])
    }

    @Test("with the error of the store, if what it needs cannot be read")
    func unreadable() throws {
        let store = MemoryRowStore()
        let before = try SteppedHost(store)
        let text = String(repeating: "x", count: 100)
        before.set(1, "counters", Self.children(400, text: text))
        for number in 1...20 { before.handle(.tick(number)) }
        before.finish()
        let host = try SteppedHost(store)
        let increment = IncomingValue(json: #"{".sv":{"increment":1}}"#, hasServerValues: true)
        let entries = (0..<1024).map { (WriteTarget(path: "counters").appending("d\($0)"), increment) }
        store.readsLeft = 0
        host.ask(7, .update(base: "counters", entries), from: 2)
        host.goOn(times: 1000)
        guard case .failed(.unavailable)? = host.replies[7] else {
            Issue.record("\(String(describing: host.replies[7]))")
            return
        }
        store.readsLeft = nil
        host.ask(8, .update(base: "counters", entries), from: 2)
        host.finish()
        #expect(try host.value(at: "counters/d1023") == "1")
    }

    /// What expires with the first moment of the turn is no change by a client, and cannot wait.
    @Test("and is not made in a turn that begins with the end of what the rules have looked at")
    func expiredBefore() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let rules = #"{"rules": {".write": true, "list": {"$any": {".validate": "root.child('codes/a').exists()"}}}}"#
        let settings = try DatabaseSettings(parsing: Array(#"{"settings": {"codes": {".expires": "until"}}}"#.utf8))
        database.setRules(try RulesProgram(parsing: Array(rules.utf8)).with(settings), now: 1000)
        let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
        func set(_ number: Int64, _ path: Path, _ value: CanonicalJSON) -> Request {
            let operation = Operation.set(WriteTarget(path: path), IncomingValue(json: value))
            return Request(connection: connection, number: number, operation: operation)
        }
        _ = database.process([set(1, "codes/a", #"{"until":2000}"#)], now: 1000)
        let request = set(2, "list", Self.children(100))
        #expect(database.beginDecision(on: request, isLast: true, now: 1000))
        #expect(database.decideSome { true })
        #expect(database.process([request], now: 3000, readBytesMax: .max).requestCount == 0)
        #expect(try database.rows.read("list") == .null)
        #expect(database.beginDecision(on: request, isLast: true, now: 3000))
        #expect(database.decideSome { true })
        #expect(database.isDecisionDenied)
    }

    /// As one of many children it is not removed by the turn, but before the request.
    @Test("and is not made if what it increments ends with its turn")
    func expiredIncrement() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let settings = try DatabaseSettings(parsing: Array(#"{"settings": {"codes": {".expires": "until"}}}"#.utf8))
        database.setRules(RulesProgram.open.with(settings), now: 1000)
        let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
        func request(_ number: Int64, _ path: Path, _ value: IncomingValue) -> Request {
            Request(connection: connection, number: number, operation: .set(WriteTarget(path: path), value))
        }
        let members = (0..<100).map { #""c\#(1000 + $0)":{"until":1500}"# } + [#""z":{"n":5,"until":2000}"#]
        let codes = CanonicalJSON(stringLiteral: "{\(members.joined(separator: ","))}")
        _ = database.process([request(1, "codes", IncomingValue(json: codes))], now: 1000)
        let increment = IncomingValue(json: #"{".sv":{"increment":3}}"#, hasServerValues: true)
        let sent = request(2, "codes/z/n", increment)
        let examined = database.preparation(.examining, now: 1000).prepared(sent)
        #expect(database.beginReading(for: examined))
        #expect(try database.readSome { true })
        let known = try #require(database.knowingBases(examined))
        let resolved = database.preparation(.resolving, now: 1000).prepared(known)
        #expect(database.process([resolved], now: 3000, readBytesMax: .max).requestCount == 0)
        #expect(!database.hasCurrentBases(resolved))
        #expect(try database.rows.read("codes/z") == .null)
    }

    /// Each of its assignments would be compared with all places that the rules have looked at.
    @Test("and what it changes itself makes nothing out of date")
    func ownChanges() throws {
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        let rules = #"{"rules": {".write": true, "list": {"$any": {".validate": "!data.exists()"}}}}"#
        database.setRules(try RulesProgram(parsing: Array(rules.utf8)), now: 1000)
        let operation = Operation.set(WriteTarget(path: "list"), IncomingValue(json: Self.children(100)))
        let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
        let request = Request(connection: connection, number: 1, operation: operation)
        #expect(database.beginDecision(on: request, isLast: true, now: 1000))
        #expect(database.decideSome { true })
        #expect(database.process([request], now: 1000, readBytesMax: .max).requestCount == 1)
        #expect(try database.rows.read("list/c10099") == #""99""#)
        #expect(database.pendingWrite.decision?.isCurrent == true)
    }
}

extension WriteTarget {
    fileprivate func appending(_ key: String) -> WriteTarget {
        WriteTarget(path: path.appending(Path(stringLiteral: key)))
    }
}
