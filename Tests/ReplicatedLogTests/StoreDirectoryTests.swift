import HearthEtcdMessages
import HearthReplicatedLog
import Testing

@Suite("The etcd cluster of a log") struct StoreDirectoryTests {
    /// What home has.
    private final class Home {
        var engine = SimulatedEngine()

        func apply(_ transaction: EtcdTransaction) throws -> EtcdTransactionReply {
            try engine.apply(transaction).get()
        }

        func look(for database: String) throws -> StoreDirectory.Found {
            StoreDirectory.found(try apply(StoreDirectory.look(for: database)))
        }

        func itself() throws -> StoreDirectory.Home {
            StoreDirectory.home(try apply(StoreDirectory.lookAtHome(own: "$cluster")))
        }

        func put(_ key: [UInt8], _ value: [UInt8]) throws {
            _ = try apply(EtcdTransaction(then: [.put(key: key, value: value)], isRepeatable: true))
        }

        func beginLog(of database: String) throws {
            let head = LogHead(epoch: 1, lastSequence: 0, lastTime: 0, lastAppend: AppendID(term: 1, number: 1))
            try put(LogKeys(database: database).head, head.bytes)
        }
    }

    @Test("is written down once, before the log begins")
    func entering() throws {
        let home = Home()
        #expect(try home.look(for: "a") == .nothing)
        #expect(try home.itself() == .init(isInUse: false, counts: [:], nodes: []))
        #expect(try home.apply(StoreDirectory.enter("a", in: "blue")).hasSucceeded)
        #expect(try home.look(for: "a") == .store("blue"))
        let second = try home.apply(StoreDirectory.enter("a", in: "home"))
        #expect(!second.hasSucceeded && StoreDirectory.found(second) == .store("blue"))
        #expect(try home.apply(StoreDirectory.enter("b", in: "home")).hasSucceeded)
        #expect(try home.look(for: "b") == .store("home"))
        // An attempt whose answer was lost is made again.
        let again = try home.apply(StoreDirectory.enter("b", in: "home"))
        #expect(StoreDirectory.found(again) == .store("home"))
        try home.beginLog(of: "$cluster")
        try home.put(NodeRecord.key(of: "n1"), [1])
        #expect(
            try home.itself()
                == .init(isInUse: true, counts: ["blue": 1, "home": 1], nodes: ["n1"]))
    }

    @Test("is home if the log has begun there, or nodes miss one that had")
    func present() throws {
        let home = Home()
        try home.beginLog(of: "a")
        #expect(try home.look(for: "a") == .store("home"))
        let reply = try home.apply(StoreDirectory.enter("a", in: "blue"))
        #expect(!reply.hasSucceeded && StoreDirectory.found(reply) == .store("home"))
        try home.put(LogKeys(database: "lost").files(of: "n1"), LogPast.none.bytes)
        let lost = try home.apply(StoreDirectory.enter("lost", in: "blue"))
        #expect(!lost.hasSucceeded && StoreDirectory.found(lost) == .nothing)
    }

    @Test("keeps programs that do not know of it from beginning the log at home")
    func earlierPrograms() throws {
        let home = Home()
        _ = try home.apply(StoreDirectory.enter("a", in: "blue"))
        let head = try #require(home.engine.values[LogKeys(database: "a").head])
        #expect(LogHead(head.value) == nil)
        #expect(StoreDirectory.store(ofHead: head.value) == "blue")
        let past = LogPast()
        #expect(try !home.apply(LogReplacement.establish("a", with: past, epoch: 2)).hasSucceeded)
        #expect(LogOverview("a", try home.apply(LogOverview.request("a")))?.elsewhere == "blue")
    }

    @Test("is the one with the fewest databases, of those that all nodes use")
    func choosing() {
        var home = StoreDirectory.Home(isInUse: true, counts: ["home": 2, "blue": 1, "red": 1], nodes: ["n1", "n2"])
        let all: Set = ["n1", "n2", "n3"]
        #expect(StoreDirectory.choice(home, [("blue", all), ("red", all)]) == "blue")
        #expect(StoreDirectory.choice(home, [("blue", ["n1"]), ("red", all)]) == "red")
        #expect(StoreDirectory.choice(home, [("blue", ["n1"]), ("red", ["n2"])]) == "home")
        #expect(StoreDirectory.choice(home, [("green", all), ("red", all)]) == "green")
        #expect(StoreDirectory.choice(home, []) == "home")
        var new = home
        new.isInUse = false
        #expect(StoreDirectory.choice(new, [("blue", all)]) == nil)
        home.nodes = []
        #expect(StoreDirectory.choice(home, [("blue", all)]) == nil)
    }

    @Test("has the log, or nodes miss one that it had; it tells who uses it, and its name")
    func elsewhere() throws {
        let blue = Home()
        func look() throws -> StoreDirectory.Elsewhere {
            StoreDirectory.elsewhere(try blue.apply(StoreDirectory.lookElsewhere(for: "a")))
        }
        #expect(try look() == .init(hasLog: false, nodes: []))
        _ = try blue.apply(StoreDirectory.name("blue"))
        // One that was taken for home by mistake.
        _ = try blue.apply(StoreDirectory.enter("a", in: "red"))
        #expect(try !look().hasLog)
        try blue.put(LogKeys(database: "a").files(of: "n1"), LogPast.none.bytes)
        try blue.put(NodeRecord.key(of: "n1"), [1])
        #expect(try look() == .init(hasLog: true, nodes: ["n1"], name: "blue"))
        try blue.beginLog(of: "a")
        #expect(try look().hasLog)
        // Nor does it say where logs are.
        #expect(try blue.look(for: "a") == .otherStore("blue"))
    }

    @Test("has a name, which does not change")
    func names() throws {
        let earlier = Home()
        try earlier.beginLog(of: "a")
        let refused = try earlier.apply(StoreDirectory.name("blue"))
        #expect(!refused.hasSucceeded && StoreDirectory.presentName(refused) == nil)
        #expect(try earlier.apply(StoreDirectory.name("home")).hasSucceeded)
        let home = Home()
        #expect(try home.apply(StoreDirectory.name("blue")).hasSucceeded)
        #expect(StoreDirectory.presentName(try home.apply(StoreDirectory.name("blue"))) == "blue")
        #expect(StoreDirectory.presentName(try home.apply(StoreDirectory.name("red"))) == "blue")
    }
}
