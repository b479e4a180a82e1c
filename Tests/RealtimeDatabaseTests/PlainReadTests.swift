import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthTestSupport
import Testing

/// Gets that an event loop answers itself, between the turns of the database thread.
@Suite("Gets without a turn")
struct PlainReadTests {
    private static let one = CanonicalJSON(trusted: Array("1".utf8))
    private static let two = CanonicalJSON(trusted: Array("2".utf8))
    private static let packing = RowPacking(packedBytesMax: 100, repackBytesMax: 50)

    private static func answers(
        _ paths: [Path], in database: Database, as principal: Principal = .nobody, now: Int64 = 1000
    ) -> [String] {
        let reads = paths.map {
            PlainRead(connection: DatabaseBench.reader, number: 1, principal: principal, path: $0, client: 0)
        }
        var answers: [Int: String] = [:]
        let left = database.answerAtOnce(reads, now: now) { answers[$0] = String(decoding: $1, as: UTF8.self) }
        #expect(Set(left).union(answers.keys) == Set(reads.indices) && left.count + answers.count == reads.count)
        return answers.sorted { $0.key < $1.key }.map(\.value)
    }

    @Test("have the answers of a turn: of rows, of what is in one, of priorities, and of nothing")
    func values() throws {
        var bench = DatabaseBench(packing: Self.packing)
        let small = #"{".priority":7,"x":{"y":[1,2]},"z":{".priority":"p",".value":true}}"#
        bench.process(
            .set("small", CanonicalJSON(trusted: Array(small.utf8))),
            .set("large/text", CanonicalJSON(string: Array(repeating: UInt8(ascii: "a"), count: 120))),
            .set("large/other", Self.one))
        _ = bench.commit()
        let paths: [Path] = [
            "small", "small/x", "small/x/y/1", "small/z", "small/z/below", "small/none", "large/text", "large/other",
        ]
        for path in paths {
            bench.process(.get(path))
            let words = bench.takeReady()
            #expect(words.count == 1)
            let answer = try #require(Self.answers([path], in: bench.database).first, "\(path)")
            #expect(words.first?.hasSuffix(" \(answer)") == true, "\(words), not \(answer), at \(path)")
        }
        #expect(Self.answers(paths, in: bench.database).count == paths.count)
    }

    @Test("end with the first that needs a turn: for several rows, or for the store")
    func others() throws {
        var bench = DatabaseBench(packing: Self.packing)
        let long = CanonicalJSON(string: Array(repeating: UInt8(ascii: "a"), count: 120))
        bench.process(.set("a", Self.one), .set("large/text", long))
        _ = bench.commit()
        #expect(Self.answers(["a", "large", "a"], in: bench.database) == ["1"])
        try bench.applyAll()
        let reopened = try DatabaseBench.reopened(bench.store, sequence: bench.database.sequence, log: [])
        #expect(Self.answers(["a"], in: reopened.database).isEmpty)
        let get = Request(connection: DatabaseBench.reader, number: 2, operation: .get("a"))
        _ = reopened.database.process([get], now: 1)
        #expect(reopened.database.takeReady().count == 1)
        #expect(Self.answers(["a"], in: reopened.database) == ["1"])
    }

    @Test("come after an earlier one of their connection that needs a turn, and not after those of others")
    func left() throws {
        var bench = DatabaseBench()
        bench.process(.set("a", Self.one))
        _ = bench.commit()
        let reads = [(DatabaseBench.reader, Path.root), (DatabaseBench.writer, "a"), (DatabaseBench.reader, "a")].map {
            PlainRead(connection: $0, number: 1, principal: .nobody, path: $1, client: 0)
        }
        bench.process(.set("b", CanonicalJSON(string: Array(repeating: 97, count: 20 << 10))))
        _ = bench.commit()
        var answered: [Int] = []
        #expect(bench.database.answerAtOnce(reads, now: 1) { index, _ in answered.append(index) } == [0, 2])
        #expect(answered == [1])
        let many = Array(repeating: reads[1], count: 40)
        #expect(bench.database.answerAtOnce(many, now: 1, mayGoOn: { false }) { _, _ in } == Array(16..<40))
        #expect(bench.database.answerAtOnce(many, now: 1, bytesMax: 1) { _, _ in } == Array(1..<40))
    }

    @Test("wait for a commit that is under way, and for what it has to tell")
    func commits() throws {
        var bench = DatabaseBench()
        bench.process(.set("a", Self.one))
        #expect(Self.answers(["a"], in: bench.database).isEmpty)
        bench.database.committed(through: 1)
        #expect(Self.answers(["a"], in: bench.database).isEmpty, "the writer is not answered yet")
        #expect(bench.takeReady().count == 1)
        #expect(Self.answers(["a"], in: bench.database) == ["1"])
    }

    @Test("keep to the rules, and leave it to a turn to deny")
    func rules() throws {
        var bench = DatabaseBench()
        bench.process(.set("open", Self.one), .set("closed", Self.two))
        _ = bench.commit()
        let rules = #"{"rules":{"open":{".read":"auth == null"},"closed":{".read":false}}}"#
        bench.database.setRules(try RulesProgram(parsing: Array(rules.utf8)), now: 0)
        #expect(Self.answers(["open", "closed"], in: bench.database) == ["1"])
        #expect(Self.answers(["open", "closed"], in: bench.database, as: .administrator) == ["1", "2"])
        #expect(bench.database.takeDenials().isEmpty)
    }

    @Test("are decided by rules that look at what is in memory, and left to a turn if more is needed")
    func rulesWithData() throws {
        var bench = DatabaseBench(packing: Self.packing)
        let rules = #"{"rules":{"$room":{".read":"root.child('members/' + $room).exists()"}}}"#
        let long = CanonicalJSON(string: Array(repeating: UInt8(ascii: "m"), count: 5000))
        bench.process(.set("a", Self.one), .set("b", Self.two), .set("members/a", long))
        _ = bench.commit()
        bench.database.setRules(try RulesProgram(parsing: Array(rules.utf8)), now: 0)
        #expect(Self.answers(["a"], in: bench.database) == ["1"])
        #expect(Self.answers(["b"], in: bench.database).isEmpty)
        let costly = #"{"rules":{".read":"root.child('members/a').val().contains('n') || true"}}"#
        bench.database.setRules(try RulesProgram(parsing: Array(costly.utf8)), now: 0)
        #expect(Self.answers(["a"], in: bench.database).isEmpty)
        bench.process(.get("a"))
        #expect(bench.takeReady().first?.hasSuffix(" 1") == true)
        // Rules may look through all of a large value.
        let large = CanonicalJSON(string: Array(repeating: UInt8(ascii: "m"), count: 20 << 10))
        bench.process(.set("members/a", large), as: .administrator)
        _ = bench.commit()
        let comparing = #"{"rules":{".read":"root.child('members/a').val() != 'm'"}}"#
        bench.database.setRules(try RulesProgram(parsing: Array(comparing.utf8)), now: 0)
        #expect(Self.answers(["a"], in: bench.database).isEmpty)
    }

    @Test("are counted like others")
    func tally() throws {
        var bench = DatabaseBench()
        let tally = RequestTally()
        bench.process(.set("a", Self.one))
        _ = bench.commit()
        bench.database.tally = tally
        #expect(Self.answers(["a", "a"], in: bench.database) == ["1", "1"])
        #expect(tally.count(.get, .ok) == 2)
    }
}
