import HearthJSONTree
import HearthTreeText
import HearthTestSupport
import HearthTreeQueries
import Testing
import HearthRealtimeDatabase

@Suite("Listeners of chosen fields (Protocol.md 18.3)")
struct ListenedFieldsTests {
    private static let queries = [
        #"{"where":[["s","==",1]],"orderBy":["n"],"limit":2,"fields":["t","m/x"]}"#,
        #"{"where":[["n",">",1]],"orderBy":[["n","desc"]],"fields":["n","t"]}"#, #"{"limit":null,"fields":["m"]}"#,
    ]

    private static func query(_ text: String) throws -> Query { try ConditionParser.query(Array(text.utf8)) }

    /// What a page of the query has, as an object of the children that have some of the fields.
    private static func expected(_ query: Query, in bench: inout DatabaseBench) throws -> CanonicalJSON {
        var page: CanonicalJSON?
        for case .reply(_, _, .value(let value)) in run(.get("l", query: query), &bench) { page = value }
        let items = try #require(page).value(at: "items")
        return items.children.reduce(.null) { object, child in
            let item = items.part(child.value)
            let key = Path(encoded: Array((item.value(at: "key").stringUTF8 ?? []).encodedSegment))
            return object.setting(item.value(at: "value"), at: key)
        }
    }

    private static func run(_ operation: Operation, _ bench: inout DatabaseBench) -> [Output] {
        bench.process(operation)
        if let last = bench.log.last { bench.database.committed(through: last.lastSequence) }
        return bench.database.takeReady()
    }

    /// Applies the pushes of the listener with the tag to its value; answers whether there were any.
    private static func take(_ outputs: [Output], tag: Int64, into view: inout CanonicalJSON) -> Bool {
        var isTold = false
        for output in outputs {
            let push: QueryPush
            switch output {
            case .pushQuery(let told, _), .initialQuery(_, let told): push = told
            default: continue
            }
            guard push.form == .tagged(tag), case .change(let change) = push.content else { continue }
            isTold = true
            for assignment in change.assignments {
                guard let place = assignment.target.path.suffix(after: "l") else { continue }
                view = place.isRoot ? assignment.value : view.setting(assignment.value, at: place)
            }
        }
        return isTold
    }

    @Test(
        "have the fields of what is selected, and are told of commits that change them, and of no others",
        arguments: 0..<(30 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var bench = DatabaseBench()
        let queries = try Self.queries.map(Self.query)
        var views = Array(repeating: CanonicalJSON.null, count: queries.count)
        _ = Self.run(.set("l/a", #"{"s":1,"n":2,"t":"x"}"#), &bench)
        for (index, query) in queries.enumerated() {
            let outputs = Self.run(.listenQuery("l", query, .tagged(Int64(index))), &bench)
            _ = Self.take(outputs, tag: Int64(index), into: &views[index])
        }
        var untold = 0
        for step in 0..<60 {
            let key = ["a", "b", "c", "d"].randomElement(using: &random) ?? "a"
            let field = ["s", "n", "t", "m/x", "m/y", "u", ""].randomElement(using: &random) ?? ""
            let value: CanonicalJSON =
                (["1", "2", "3", "null"] as [CanonicalJSON]).randomElement(using: &random) ?? "1"
            let path: Path
            let written: CanonicalJSON
            switch Int.random(in: 0..<20, using: &random) {
            case 0: (path, written) = ("l", #"{"a":{"s":1,"n":1,"t":1},"b":{"s":1,"n":5,"m":{"x":1,"y":2}}}"#)
            case 1: (path, written) = ("", "null")
            case 2...4:
                (path, written) = (try Path(parsing: "l/\(key)"), #"{"s":1,"n":2,"t":"y","m":{"x":1},"u":5}"#)
            default:
                (path, written) = (try Path(parsing: field.isEmpty ? "l/\(key)" : "l/\(key)/\(field)"), value)
            }
            let outputs = Self.run(.set(path, written), &bench)
            for (index, query) in queries.enumerated() {
                let before = views[index]
                let isTold = Self.take(outputs, tag: Int64(index), into: &views[index])
                let expected = try Self.expected(query, in: &bench)
                #expect(views[index] == expected, "seed \(seed), step \(step), query \(index): \(path) \(written)")
                #expect(
                    isTold == (before != expected), "seed \(seed), step \(step), query \(index): \(path) \(written)")
                if !isTold { untold += 1 }
            }
        }
        #expect(untold > 20, "seed \(seed)")
    }

    @Test("tell events with the fields alone, and of children that move")
    func events() throws {
        var bench = DatabaseBench()
        bench.process(.set("l", #"{"a":{"n":1,"t":"x"},"b":{"n":2,"t":"y","u":1}}"#))
        let query = try Self.query(#"{"orderBy":["n"],"limit":null,"fields":["t"]}"#)
        bench.process(.listenQuery("l", query, .events(tag: 1, .child)))
        _ = bench.commit()
        bench.process(.set("l/b/u", "2"))
        #expect(bench.commit().count { $0.contains("push") } == 0)
        bench.process(.set("l/b/t", #""z""#))
        #expect(bench.commit().first?.hasSuffix(#"changed /b {"t":"z"} after /a"#) == true)
        bench.process(.set("l/a/n", "3"))
        let moved = bench.commit().first ?? ""
        #expect(moved.contains(#"moved /a {"t":"x"} after /b"#), "\(moved)")
        bench.process(.set("l/a", "null"))
        #expect(bench.commit().first?.contains(#"removed /a {"t":"x"}"#) == true)
    }

    @Test("are not told the page that somebody else has read in the same turn")
    func sharedReads() throws {
        var bench = DatabaseBench()
        let text = String(repeating: "x", count: 20_000)
        bench.process(.set("l", CanonicalJSON(trusted: Array(#"{"a":{"t":"\#(text)"}}"#.utf8))))
        _ = bench.commit()
        let query = try Self.query(#"{"fields":["t"]}"#)
        let requests: [Operation] = [
            .get("l", query: query), .listenQuery("l", query, .tagged(1)), .get("l", query: query),
        ]
        bench.process(requests[0], requests[1], requests[2])
        let answers = bench.commit()
        #expect(answers.count { $0.contains(#"{"count":1,"items""#) } == 2)
        #expect(answers.contains { $0.hasPrefix(#"initial tagged(1) l {"a":{"t":"#) })
    }
}

extension [UInt8] {
    fileprivate var encodedSegment: [UInt8] {
        var segment: [UInt8] = []
        _ = withUnsafeBytes { Path.appendSegment(ofKey: $0, to: &segment) }
        return segment
    }
}
