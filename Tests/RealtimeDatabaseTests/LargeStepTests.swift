import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

/// A look at a row takes 0.1 ms here, and a step is to take a millisecond.
@Suite("A large write goes on in steps")
struct LargeStepTests {
    private static let count = 600
    /// A step ends with the 16 reads that have taken too long.
    private static let longestStep: Int64 = 6_000_000

    private static func key(_ number: Int) -> String { "c\(10_000 + number)" }

    private static func object(_ members: [String]) -> CanonicalJSON {
        CanonicalJSON(stringLiteral: "{\(members.joined(separator: ","))}")
    }

    /// A store with counters, each in a row of its own.
    private static func store() throws -> MemoryRowStore {
        let store = MemoryRowStore()
        let host = try SteppedHost(store)
        let text = String(repeating: "x", count: 40)
        let counters = (0..<count).map { #""\#(key($0))":{"n":\#($0),"text":"\#(text)"}"# }
        host.set(1, "counters", object(counters))
        host.finish()
        for number in 1...20 { host.handle(.tick(number)) }
        host.finish()
        #expect(store.all.count == count)
        return store
    }

    private static let increment: CanonicalJSON = #"{".sv":{"increment":3}}"#
    private static let timestamp: CanonicalJSON = #"{".sv":"timestamp"}"#

    /// Increments all counters, sets their times, and something large.
    private static func update(padding: Int = 100) -> Operation {
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "y"), count: padding))
        var entries: [(target: WriteTarget, value: IncomingValue)] = []
        for number in 0..<count {
            let counter = Path("counters").appending(Path(stringLiteral: key(number)))
            entries.append((WriteTarget(path: counter.appending("n")), .init(json: increment, hasServerValues: true)))
            entries.append(
                (WriteTarget(path: counter.appending("time")), .init(json: timestamp, hasServerValues: true)))
            entries.append((WriteTarget(path: counter.appending("text")), .init(json: text)))
        }
        return .update(base: "counters", entries)
    }

    @Test("when it increments what is not in memory: small writes go on, and the sums are right")
    func increments() throws {
        let host = try SteppedHost(try Self.store())
        host.ask(1, Self.update(), from: 2)
        for number: Int64 in 10..<20 {
            host.set(number, "small", "1", from: 3)
            host.goOn(times: 2)
        }
        host.finish()
        #expect(host.longest < Self.longestStep)
        #expect(host.written.prefix(10).allSatisfy { $0 == "/small" })
        for number in 0..<Self.count {
            let value = try host.value(at: Path("counters").appending(Path(stringLiteral: Self.key(number))))
            #expect(value.value(at: "n") == CanonicalJSON(integer: Int64(number) + 3))
            #expect(value.value(at: "time") == "1000")
        }
    }

    @Test("and a write at the place of an increment waits for it, as do later ones of its connection; others do not")
    func heldWrites() throws {
        let host = try SteppedHost(try Self.store())
        host.ask(1, Self.update(), from: 2)
        host.goOn(times: 3)
        host.set(2, Path(stringLiteral: "counters/\(Self.key(5))/n"), "1000", from: 3)
        host.set(3, "other", "1", from: 3)
        host.set(4, "small", "1", from: 4)
        host.set(5, "counters", "null", from: 5)
        host.finish()
        #expect(host.replyOrder.prefix(2) == [4, 1])
        #expect(host.replyOrder.filter { $0 != 5 } == [4, 1, 2, 3])
        let held = ["/counters/\(Self.key(5))/n", "/other", "/counters"]
        #expect(host.written.suffix(3).sorted() == held.sorted())
    }

    @Test("and its increments refer to what the server itself has written there meanwhile")
    func readAgain() throws {
        let host = try SteppedHost(try Self.store())
        let place = Path(stringLiteral: "counters/\(Self.key(5))/n")
        host.ask(1, .onDisconnect([(WriteTarget(path: place), IncomingValue(json: "70"))]), from: 9)
        host.finish()
        host.ask(1, Self.update(), from: 2)
        host.goOn(times: 8)
        host.ask(2, .disconnect, from: 9)
        host.finish()
        #expect(try host.value(at: place) == "73")
    }

    @Test("when it sets many places that are not in memory")
    func scattered() throws {
        let host = try SteppedHost(try Self.store())
        var entries: [(target: WriteTarget, value: IncomingValue)] = []
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "y"), count: 200))
        for number in 0..<Self.count {
            let path = Path(stringLiteral: "counters/\(Self.key(number))/text")
            entries.append((WriteTarget(path: path), IncomingValue(json: text)))
        }
        host.ask(1, .update(base: .root, entries), from: 2)
        host.goOn(times: 4)
        host.set(2, "small", "1", from: 3)
        host.finish()
        #expect(host.longest < Self.longestStep)
        #expect(host.replyOrder == [2, 1])
        #expect(try host.value(at: Path(stringLiteral: "counters/\(Self.key(7))/text")) == text)
    }

    @Test("unless it sets too many rows one by one, which administrators alone may do")
    func tooMany() throws {
        let host = try SteppedHost(try Self.store(), rowsAtOnceMax: 1000)
        host.ask(1, Self.update(), from: 2)
        host.finish()
        guard case .failed(.refused(StaticText("too_big"), let text)) = host.replies[1] else {
            Issue.record("\(String(describing: host.replies[1]))")
            return
        }
        #expect(text.hasPrefix("this update sets about 1800 rows one by one, and may set 1000"))
        #expect(try host.value(at: "counters/c10005/n") == "5")
        host.ask(2, Self.update(), from: 2, as: .administrator)
        host.finish()
        #expect(try host.value(at: "counters/c10005/n") == "8")
        // One large value, or children of one place, are made beforehand.
        let many = Self.object((0..<3000).map { #""\#(Self.key($0))":\#($0)"# })
        host.set(3, "many", many)
        host.ask(4, .setChildren("more", IncomingValue(json: many)))
        host.finish()
        #expect(try host.value(at: "many/c12999") == "2999")
        #expect(try host.value(at: "more/c12999") == "2999")
    }

    @Test("of children that an index asks for, up to as many rows")
    func indexedChildren() throws {
        let rules = #"{"rules": {".write": true, "more": {".indexOn": ".value"}}}"#
        let host = try SteppedHost(rules: rules, rowsAtOnceMax: 2500)
        func children(_ count: Int) -> Operation {
            let members = (0..<count).map { #""\#(Self.key($0))":"value \#($0)""# }
            return .setChildren("more", IncomingValue(json: Self.object(members)))
        }
        host.ask(1, children(2400))
        host.ask(2, children(2600))
        host.finish()
        guard case .done = host.replies[1], case .failed(.refused(StaticText("too_big"), _)) = host.replies[2] else {
            Issue.record("\(host.replies)")
            return
        }
        #expect(try host.value(at: "more/c12399") == #""value 2399""#)
        #expect(try host.value(at: "more/c12400") == .null)
    }

    @Test("and those who may not read get what they sent, though it was resolved before")
    func echo() throws {
        let rules = #"{"rules": {".write": true, "counters": {".read": "auth != null"}}}"#
        let host = try SteppedHost(try Self.store(), rules: rules)
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "z"), count: 70_000))
        let value = CanonicalJSON.null.setting(Self.increment, at: "n").setting(text, at: "text")
        let place = WriteTarget(path: "counters/c10005")
        for (number, principal) in [(1, Principal.nobody), (2, try Principal(auth: Array(#"{"uid":"u"}"#.utf8)))] {
            let operation = Operation.set(place, IncomingValue(json: value, hasServerValues: true), echoes: true)
            host.ask(Int64(number), operation, as: principal)
            host.finish()
        }
        guard case .value(let hidden)? = host.replies[1], case .value(let seen)? = host.replies[2] else {
            Issue.record("\(host.replies)")
            return
        }
        #expect(hidden == value)
        #expect(seen.value(at: "n") == "11")
    }

    @Test("when the rules look at its server values, which are those of the time that they see")
    func rules() throws {
        let rules = #"""
            {"rules": {".write": true, "$any": {"$item": {
                ".validate": "newData.child('time').val() === now && newData.child('n').val() >= 3"}}}}
            """#
        let host = try SteppedHost(try Self.store(), rules: rules)
        let item = CanonicalJSON.null.setting(Self.increment, at: "n").setting(Self.timestamp, at: "time")
        let members = (0..<Self.count).map { #""\#(Self.key($0))":\#(item)"# }
        let steps = host.steps
        host.ask(1, .set(WriteTarget(path: "counters"), .init(json: Self.object(members), hasServerValues: true)))
        host.goOn(times: 8)
        host.wall += 500
        host.finish()
        guard case .done? = host.replies[1] else {
            Issue.record("\(host.replies)")
            return
        }
        #expect(host.steps - steps > 40)
        #expect(host.longest < Self.longestStep)
        #expect(try host.value(at: "counters/c10005/n") == "8")
        #expect(try host.value(at: "counters/c10005/time") == "1000")
    }

    // MARK: What the server itself writes

    private static let some = (0..<40).map { Path(stringLiteral: "counters/\(key($0))/n") }

    /// Increments some counters, which are 5, and sets something large.
    private static func increments(_ places: [Path] = some) -> Operation {
        let padding = CanonicalJSON(string: Array(repeating: UInt8(ascii: "y"), count: 70_000))
        var entries = places.map { (WriteTarget(path: $0), IncomingValue(json: increment, hasServerValues: true)) }
        entries.append((WriteTarget(path: "padding"), IncomingValue(json: padding)))
        return .update(base: .root, entries)
    }

    private static func setCounters(on host: SteppedHost) {
        host.set(1, "counters", object((0..<40).map { #""\#(key($0))":{"n":5}"# }))
        host.finish()
    }

    private static func owe(_ value: CanonicalJSON, at place: Path, from client: UInt64, on host: SteppedHost) {
        host.ask(1, .onDisconnect([(WriteTarget(path: place), IncomingValue(json: value))]), from: client)
    }

    @Test("and the rules see the sums that are stored, whenever the server changes their bases", arguments: 0..<12)
    func rulesOfSums(times: Int) throws {
        let rules = #"""
            {"rules": {".write": true, "counters": {"$any": {"n": {".validate": "newData.val() <= 10"}}}}}
            """#
        let host = try SteppedHost(rules: rules)
        Self.setCounters(on: host)
        Self.owe("9", at: Self.some[7], from: 9, on: host)
        host.finish()
        host.ask(7, Self.increments(), from: 2)
        host.goOn(times: times)
        host.ask(2, .disconnect, from: 9)
        host.finish()
        // Either the sums came first and were replaced, or they were refused.
        #expect(try host.value(at: Self.some[7]) == "9")
        let isDenied = if case .failed(.denied)? = host.replies[7] { true } else { false }
        #expect(try host.value(at: Self.some[8]) == (isDenied ? "5" : "8"))
    }

    @Test("and no value is lost that the server sets in the same turn", arguments: 0..<12)
    func owedBefore(times: Int) throws {
        let host = try SteppedHost()
        Self.setCounters(on: host)
        Self.owe("70", at: Self.some[7], from: 9, on: host)
        host.finish()
        host.ask(7, Self.increments(), from: 2)
        host.goOn(times: times)
        host.ask(2, .disconnect, from: 9)
        host.finish()
        let isFirst = host.written.last == "/padding"
        #expect(try host.value(at: Self.some[7]) == (isFirst ? "73" : "70"))
    }

    @Test("and no child comes back that has expired in the same turn", arguments: 0..<12)
    func expiredBefore(times: Int) throws {
        let host = try SteppedHost(settings: #"{"settings": {"codes": {".expires": "until"}}}"#)
        host.set(1, "codes/a", #"{"n":5,"until":2000}"#)
        host.finish()
        host.ask(7, Self.increments(["codes/a/n"]), from: 2)
        host.goOn(times: times)
        host.wall = 3000
        host.finish()
        host.handle(.tick(1))
        host.finish()
        let value = try host.value(at: "codes/a")
        #expect(value == .null || value == #"{"n":3}"#)
    }

    /// Without a bound it would begin anew for ever, and all large writes after it would wait.
    @Test(
        "and is made in one step if the server changes again and again what was read for it, or what the rules saw",
        arguments: ["counters/c10007/n", "open"])
    func changesWithoutEnd(place: Path) throws {
        let rules = #"""
            {"rules": {".write": true, "counters": {"$any": {"n": {
                ".validate": "root.child('open').val() !== 'no' && newData.val() >= 5"}}}}}
            """#
        let host = try SteppedHost(rules: rules)
        Self.setCounters(on: host)
        host.ask(7, Self.increments(), from: 2)
        var changes: UInt64 = 0
        while host.replies[7] == nil, changes < 1000 {
            changes += 1
            Self.owe("70", at: place, from: 100 + changes, on: host)
            host.ask(2, .disconnect, from: 100 + changes)
            host.goOn()
        }
        guard case .done? = host.replies[7] else {
            Issue.record("\(String(describing: host.replies[7])) after \(changes)")
            return
        }
        host.finish()
        #expect(try host.value(at: Self.some[8]) == "8")
        #expect(changes < 300)
    }

    @Test("and so are children whose place gets a query without a limit before: not many of them", arguments: 0..<8)
    func queriedBefore(times: Int) throws {
        let host = try SteppedHost(rowsAtOnceMax: 1000)
        let before = host.database.sequence
        let members = (0..<3000).map { #""\#(Self.key($0))":\#($0)"# }
        host.ask(7, .setChildren("more", IncomingValue(json: Self.object(members))), from: 2)
        host.goOn(times: times)
        let isFirst = host.database.sequence > before
        host.ask(2, .listenQuery("more", Query(index: .value), .tagged(1)), from: 3)
        host.finish()
        let isRefused = if case .failed(.refused(StaticText("too_big"), _))? = host.replies[7] { true } else { false }
        #expect(isRefused == !isFirst)
        #expect(try host.value(at: "more/c12999") == (isFirst ? "2999" : .null))
    }

    @Test("unless it increments too much, which administrators alone may do")
    func tooManyIncrements() throws {
        let host = try SteppedHost(rowsAtOnceMax: 2000)
        let members = (0..<2400).map { #""\#(Self.key($0))":\#(Self.increment)"# }
        let operation = Operation.set(
            WriteTarget(path: "counters"), IncomingValue(json: Self.object(members), hasServerValues: true))
        host.ask(1, operation, from: 2)
        host.finish()
        guard case .failed(.refused(StaticText("too_big"), let text))? = host.replies[1] else {
            Issue.record("\(String(describing: host.replies[1]))")
            return
        }
        #expect(text == "this write increments more than 2000 values: divide it")
        host.ask(2, operation, from: 2, as: .administrator)
        host.finish()
        #expect(try host.value(at: "counters/c12399") == "3")
    }

    // MARK: What the rules deny

    private static let all = (0..<count).map { Path(stringLiteral: "counters/\(key($0))/n") }

    /// A signed-in user sets a place again and again until a write is answered.
    ///
    /// - returns: the events until the last answer, of the set that has taken most of them.
    private static func setAgain(_ place: Path, until number: Int64, on host: SteppedHost) throws -> Int {
        let principal = try Principal(auth: Array(#"{"uid":"u"}"#.utf8))
        var (last, events, most) = (Int64(1000), 0, 0)
        while host.replies[number] == nil, last < 5000 {
            if last == 1000 || host.replies[last] != nil {
                (last, events) = (last + 1, 0)
                let value = IncomingValue(json: CanonicalJSON(integer: last))
                host.ask(last, .set(WriteTarget(path: place), value), from: 3, as: principal)
            }
            guard host.goOn() else { break }
            events += 1
            most = max(most, events)
        }
        host.finish()
        return most
    }

    @Test("and nobody waits for it if the rules deny it, however often the values change that it increments")
    func deniedIncrements() throws {
        let rules = #"""
            {"rules": {
                "counters": {"$any": {"n": {".write": "auth != null || $any > 'c10000'"}}},
                "padding": {".write": true}
            }}
            """#
        let host = try SteppedHost(try Self.store(), rules: rules, residentBytesMax: 0)
        host.ask(7, Self.increments(Self.all), from: 2)
        let most = try Self.setAgain(Self.all[0], until: 7, on: host)
        guard case .failed(.denied(let why))? = host.replies[7] else {
            Issue.record("\(String(describing: host.replies[7]))")
            return
        }
        #expect(why.contains("asked for /counters/c10000/n"))
        #expect(most < 10)
        #expect(host.longest < Self.longestStep)
        #expect(try host.value(at: Self.all[1]) == "1")
    }

    @Test("and the rules see sums and earlier values that belong together, however often these change")
    func allowedIncrements() throws {
        let rules = #"""
            {"rules": {".write": true, "counters": {"$any": {"n": {
                ".validate": "newData.val() === data.val() + 3 || auth != null"}}}}}
            """#
        let host = try SteppedHost(try Self.store(), rules: rules)
        host.ask(7, Self.update(), from: 2)
        _ = try Self.setAgain(Self.all[0], until: 7, on: host)
        guard case .done? = host.replies[7] else {
            Issue.record("\(String(describing: host.replies[7]))")
            return
        }
        #expect(try host.value(at: Self.all[1]) == "4")
        #expect(host.written.count { $0 == "/counters/c10001/n" } == 1)
    }

    @Test("and a denial is one by the values that are present when it is answered", arguments: 0..<16)
    func presentDenial(times: Int) throws {
        let rules = #"""
            {"rules": {".write": true, "counters": {"$any": {"n": {
                ".validate": "root.child('open').val() === true || auth != null"}}}}}
            """#
        let host = try SteppedHost(rules: rules)
        let principal = try Principal(auth: Array(#"{"uid":"u"}"#.utf8))
        let counters = Self.object((0..<40).map { #""\#(Self.key($0))":{"n":5}"# })
        host.ask(1, .set(WriteTarget(path: "counters"), IncomingValue(json: counters)), as: principal)
        host.finish()
        host.ask(7, Self.increments(), from: 2)
        host.goOn(times: times)
        host.set(8, "open", "true", from: 3)
        host.finish()
        let isDenied = if case .failed(.denied)? = host.replies[7] { true } else { false }
        #expect(try host.value(at: Self.some[8]) == (isDenied ? "5" : "8"))
        if isDenied { #expect(host.replyOrder.suffix(2) == [7, 8]) }
    }
}
