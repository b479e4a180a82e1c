import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

/// The data sent to a listener that comes back to `/l` with the value after the first write.
@Suite("an update of what was missed")
struct MissedUpdateTests {
    typealias Write = (path: Path, value: CanonicalJSON)

    /// Makes the writes, each a commit, and answers the sent data.
    private static func update(
        of path: Path = "l", from first: CanonicalJSON, _ writes: [Write], since: UInt64 = 1
    ) throws -> String {
        var bench = DatabaseBench(packing: .init(packedBytesMax: 40, repackBytesMax: 10))
        bench.database.keepsRecords = true
        bench.process(.set("l", first))
        for write in writes { bench.process(.set(write.path, write.value)) }
        _ = bench.commit()
        bench.process(
            .listen(path, known: nil, since: .position(Position(epoch: 0, sequence: since, time: 1000))),
            by: DatabaseBench.reader)
        let said = bench.commit()
        #expect(said.last?.hasSuffix("recovered") == true)
        return said[0]
    }

    @Test("has neither what was deleted nor what was there in between")
    func secrets() throws {
        let sent = try Self.update(
            from: #"{"a":1,"z":1}"#, [("l/m/1", "\"secret\""), ("l/a", "2"), ("l/m/1", "null"), ("l/a", "3")])
        #expect(sent == "missed l/a 3, l/m null")
    }

    @Test(
        "names what changed, and nothing inside of something else",
        arguments: [
            // Something that is set again lies in what was set above it, and the other way round.
            ([("l/a/x", "2"), ("l/a", "{\"x\":3,\"y\":4}")], "l/a {\"x\":3,\"y\":4}"),
            ([("l/a", "{\"x\":2}"), ("l/a/y", "3")], "l/a {\"x\":2,\"y\":3}"),
            ([("l", "5")], "l 5"), ([("l", "null")], "l null"), ([("l/a", "7"), ("l", "{\"b\":1}")], "l {\"b\":1}"),
            // What lies in `z` did not change.
            ([("l/a/x", "2")], "l/a/x 2"), ([("l/a/x", "null")], "l/a null"),
            ([("l/a/x", "null"), ("l/z", "null")], "l null"),
        ] as [([Write], String)])
    func paths(writes: [Write], sent: String) throws {
        #expect(try Self.update(from: #"{"a":{"x":1},"z":1}"#, writes) == "missed \(sent)")
    }

    @Test("begins where the listener left")
    func start() throws {
        let writes: [Write] = [("l/a", "1"), ("l/b", "2"), ("l/a/c", "3")]
        #expect(try Self.update(from: #"{"z":1}"#, writes, since: 1) == #"missed l/a {"c":3}, l/b 2"#)
        #expect(try Self.update(from: #"{"z":1}"#, writes, since: 2) == "missed l/a/c 3, l/b 2")
        #expect(try Self.update(from: #"{"z":1}"#, writes, since: 3) == "missed l/a/c 3")
        #expect(try Self.update(from: #"{"z":1}"#, writes, since: 4) == "missed nothing")
        #expect(try Self.update(of: "l/a", from: #"{"z":1}"#, writes, since: 2) == "missed l/a/c 3")
        #expect(try Self.update(of: "l/z", from: #"{"z":1}"#, writes, since: 1) == "missed nothing")
    }

    @Test("tells of a priority that went with a node which was gone for a while, and of a leaf that is no longer one")
    func vanished() throws {
        let first: CanonicalJSON = #"{"a":{".priority":1,"x":1},"z":1}"#
        #expect(try Self.update(from: first, [("l/a/x", "null"), ("l/a/y", "2")]) == #"missed l/a {"y":2}"#)
        // Something of it was there all the time.
        let two: CanonicalJSON = #"{"a":{".priority":1,"x":1,"w":1},"z":1}"#
        #expect(try Self.update(from: two, [("l/a/x", "null"), ("l/a/y", "2")]) == "missed l/a/x null, l/a/y 2")
        #expect(try Self.update(from: #"{"a":5,"z":1}"#, [("l/a/x", "1"), ("l/a/x", "null")]) == "missed l/a null")
    }

    @Test("comes with priorities last")
    func priorities() throws {
        var bench = DatabaseBench()
        bench.database.keepsRecords = true
        bench.process(.set("l", #"{"a":{"x":1},"b":{"x":1}}"#))
        bench.process(.setPriority("l/a", "1"), .set("l/b/y", "2"), .setPriority("l/a", "3"))
        _ = bench.commit()
        let listen = Operation.listen("l", known: nil, since: .position(Position(epoch: 0, sequence: 1, time: 1000)))
        bench.process(listen, by: DatabaseBench.reader)
        #expect(bench.commit().first == "missed l/b/y 2, l/a/.priority 3")
    }

    @Test("is made once for all who need the same")
    func shared() throws {
        var bench = DatabaseBench()
        bench.database.keepsRecords = true
        bench.process(.set("l", #"{"a":1,"b":2}"#))
        for number in 2...9 { bench.process(.set(number < 6 ? "l/a" : "l/b", CanonicalJSON(integer: Int64(number)))) }
        _ = bench.commit()
        let found = MissedChanges.Found(MissedChanges(after: 1), "l", time: 1000)
        for record in bench.log { try found.changes.take(record) }
        func update(_ since: UInt64) throws -> MissedUpdate {
            try #require(found.place.update(after: since, of: bench.database.rows, valueBytesMax: 100)?.update)
        }
        let (both, one) = (try update(4), try update(6))
        #expect(both.change.assignments.count == 2)
        #expect(one.change.assignments.count == 1)
        for since in 1...4 as ClosedRange<UInt64> { #expect(try update(since) === both) }
        for since in 5...8 as ClosedRange<UInt64> { #expect(try update(since) === one) }
        // Until something changes there.
        bench.process(.set("x", "1"))
        try found.changes.take(bench.log[bench.log.count - 1])
        #expect(try update(8) === one)
        bench.process(.set("l/b", "0"))
        try found.changes.take(bench.log[bench.log.count - 1])
        #expect(try update(8) !== one)
        #expect(try update(8).change.assignments.map(\.value) == ["0"])
    }

    @Test("is not made of a value that is too large, nor of too many")
    func tooLarge() throws {
        var bench = DatabaseBench()
        bench.database.keepsRecords = true
        bench.process(.set("l", "1"))
        let half = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 1 << 19))
        // Of several rows.
        let (head, middle) = (Array("{\"a\":".utf8), Array(",\"b\":".utf8))
        let large = CanonicalJSON(trusted: head + half.bytes + middle + half.bytes + Array("}".utf8))
        bench.process(.set("l/large", large), .set("l/small", "1"))
        for number in 0..<20 { bench.process(.set(("many" as Path).appending(Key(Int32(number))), half)) }
        _ = bench.commit()
        let expected: [(Path, Bool)] = [
            ("l", false), ("l/large", false), ("l/small", true), ("many", false), ("many/1", true),
        ]
        for (path, isRecovered) in expected {
            let since = Since.position(Position(epoch: 0, sequence: 1, time: 1000))
            bench.process(.listen(path, known: [], since: since), by: DatabaseBench.reader)
            bench.process(.unlisten(path), by: DatabaseBench.reader)
            let said = bench.commit().joined(separator: "; ")
            #expect(said.contains("recovered") == isRecovered, "\(path)")
            #expect(said.contains("missed") == isRecovered, "\(path)")
            bench.process(.disconnect, by: DatabaseBench.reader)
        }
    }
}
