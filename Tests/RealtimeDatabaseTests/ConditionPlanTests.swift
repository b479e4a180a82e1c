import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import Testing
import HearthRealtimeDatabase

@Suite("Plans of queries with conditions")
struct ConditionPlanTests {
    private static let childCount = 5000

    /// `n` counts the children, and each of a hundred people has fifty.
    private static func queried(_ indexes: String, rules: [IndexDefinition] = []) throws -> QueriedDatabase {
        let queried = QueriedDatabase()
        let children = (0..<childCount).map { #""k\#($0)":{"by":"u\#($0 % 100)","n":\#($0)}"# }
        try queried.set("l", "{\(children.joined(separator: ","))}")
        try queried.index(indexes, rules: rules)
        return queried
    }

    private struct Case {
        var query: String
        var count: Int
        var examinedMax: Int
        var index: String?
    }

    @Test("look at about as much as they select, if an index allows it")
    func examined() throws {
        let scanned = try Self.queried("[]")
        let queried = try Self.queried(#"[["n"],["by"],["by","n"]]"#)
        for item in [
            Case(query: #""where":[["n",">",4990]]"#, count: 9, examinedMax: 9, index: #"[["n","asc"]]"#),
            Case(
                query: #""where":[["by","==","u1"],["n",">",4900]]"#, count: 1, examinedMax: 1,
                index: #"[["by","asc"],["n","asc"]]"#),
            Case(
                query: #""where":[["n",">",4990]],"orderBy":["by"]"#, count: 9, examinedMax: 9,
                index: #"[["n","asc"]]"#),
            Case(
                query: #""where":[["or",["by","==","u1"],["by","==","u2"]]]"#, count: 100, examinedMax: 100,
                index: #"[["by","asc"]]"#),
            Case(
                query: #""where":[["or",["n",">",4995],["n","<",3]]]"#, count: 7, examinedMax: 7,
                index: #"[["n","asc"]]"#),
            Case(
                query: #""where":[["or",["n",">",4995],["n","<",3],["n","<=",1]]],"orderBy":["n"]"#, count: 7,
                examinedMax: 7, index: #"[["n","asc"]]"#),
            Case(
                query: #""where":[["or",["by","==","u1"],["by","in",["u2","u3"]]],["n",">=",4901]]"#, count: 3,
                examinedMax: 3, index: #"[["by","asc"],["n","asc"]]"#),
            Case(query: #""where":[["n","!=",0]],"limit":3"#, count: 3, examinedMax: 5),
            Case(query: #""where":[["n",">",10],["by","!=","u3"]],"limit":3"#, count: 3, examinedMax: 1100),
            Case(
                query: #""where":[["n","<",50],["by","!=","u3"]],"limit":3"#, count: 3, examinedMax: 60,
                index: #"[["n","asc"]]"#),
            Case(
                query: #""where":[["by","==","u1"],["by","==","u2"]]"#, count: 0, examinedMax: 0,
                index: #"[["by","asc"]]"#),
        ] {
            let page = try queried.page(#"{"explain":true,\#(item.query)}"#)
            let expected = try scanned.page(#"{"explain":true,\#(item.query)}"#)
            #expect(page.text == expected.text, "\(item.query)")
            #expect(page.keys.count == item.count, "\(item.query)")
            #expect(page.index == item.index, "\(item.query)")
            #expect(page.needs == nil, "\(item.query)")
            let examined = try #require(page.examined)
            #expect(examined <= item.examinedMax, "\(item.query): \(examined)")
        }
    }

    @Test("go on where a page has ended, and stop when the next one is full")
    func pages() throws {
        let queried = try Self.queried("[]")
        var after = ""
        for _ in 0..<5 {
            let page = try queried.page(#"{"where":[["n","!=",7]],"limit":3,"explain":true\#(after)}"#)
            let examined = try #require(page.examined)
            #expect(page.keys.count == 3 && examined <= 5)
            #expect(page.needs == nil)
            after = #","after":"\#(String(decoding: try #require(page.next), as: UTF8.self))""#
        }
    }

    @Test("use the indexes of rules as well")
    func rules() throws {
        let pattern = try #require(IndexPattern(text: "l"))
        let queried = try Self.queried("[]", rules: [IndexDefinition(pattern: pattern, index: .child("n"))])
        for (query, count) in [(#"["n",">",4990]"#, 9), (#"["n","<",3],["by","==","u1"]"#, 1)] {
            let page = try queried.page(#"{"where":[\#(query)],"explain":true}"#)
            #expect(page.keys.count == count && page.index == "n")
            #expect(try #require(page.examined) <= 9)
        }
    }

    @Test("give a listener what its conditions select, also after its place was replaced", arguments: [true, false])
    func replaced(isRuled: Bool) throws {
        for indexes in ["[]", #"[["s"]]"#, #"[["n"]]"#, #"[["s"],["n","s"]]"#] {
            let queried = QueriedDatabase()
            try queried.set("l", #"{"a":{"s":"open","n":1},"b":{"s":"secret","n":2}}"#)
            let pattern = try #require(IndexPattern(text: "l"))
            let ofRules = IndexDefinition(pattern: pattern, index: .child("s"))
            try queried.index(indexes, rules: isRuled ? [ofRules] : [])
            for (tag, text) in [
                #"{"where":[["s","==","open"]]}"#, #"{"where":[["s","==","open"]],"limit":null}"#,
                #"{"where":[["s","==","open"]],"orderBy":["n"],"limit":1}"#,
            ].enumerated() {
                queried.run([.listenQuery("l", try ConditionParser.query(Array(text.utf8)), .tagged(Int64(tag)))])
            }
            let outputs = try queried.set("l", #"{"a":{"s":"open","n":3},"b":{"s":"secret","n":2}}"#)
            let pushed = outputs.compactMap { output -> CanonicalJSON? in
                guard case .pushQuery(let push, _) = output, case .change(.set(let assignment)) = push.content else {
                    return nil
                }
                return assignment.value
            }
            #expect(pushed == Array(repeating: #"{"a":{"n":3,"s":"open"}}"#, count: 3), "\(indexes)")
        }
    }

    @Test("name the index that would leave little to be looked at")
    func advice() throws {
        for (indexes, query, needs) in [
            ("[]", #""where":[["n",">",4990]]"#, #"[["n","asc"]]"#),
            ("[]", #""where":[["n",">",4990]],"limit":3"#, #"[["n","asc"]]"#),
            (#"[["by"]]"#, #""where":[["by","==","u1"],["n",">",4900]]"#, #"[["by","asc"],["n","asc"]]"#),
            ("[]", #""where":[["or",["by","==","u1"],["by","==","u2"]]]"#, #"[["by","asc"]]"#),
            ("[]", #""where":[["or",["n",">",4995],["n","<",3]]]"#, #"[["n","asc"]]"#),
            (#"[["by"]]"#, #""where":[["n",">",4990]],"orderBy":["by"]"#, #"[["n","asc"]]"#),
            // None is better.
            (#"[["n"]]"#, #""where":[["n",">",4990],["by",">","u1"]]"#, nil),
            ("[]", #""where":[["n","!=",4]]"#, nil),
            // It is full at once.
            ("[]", #""where":[["n",">=",0]],"limit":3"#, nil),
        ] as [(String, String, String?)] {
            #expect(try Self.queried(indexes).page("{\(query)}").needs == needs, "\(indexes) \(query)")
        }
    }

    // MARK: While data changes

    private static let values = ["null", "true", "-1", "0", "1", "2", "3.5", #""a""#, #""ab""#, #"{"x":1}"#]

    private static func child(_ random: inout SeededRandom) -> String {
        #"{"a":\#(random.pick(values)),"b":\#(random.pick(values)),"there":1}"#
    }

    private static let queries = [
        #""where":[["a",">=",0]]"#, #""where":[["a",">=",0]],"orderBy":["b"]"#, #""where":[["b","!=",2]]"#,
        #""where":[["or",["a","==",1],["a","<",0],["a","starts","a"]]],"orderBy":[["b","desc"],"a"]"#,
        #""where":[["a","in",[0,1,2]],["b",">",0]]"#, #""orderBy":["a"]"#,
        #""where":[["a","in",[0,1,2]]],"orderBy":["a"]"#,
        #""where":[["or",["a","==",1],["b","==",1]]]"#,
    ]

    private static let indexes = [
        "[]", #"[["a"]]"#, #"[["b"]]"#, #"[["a","b"]]"#, #"[["a"],["b","a"]]"#, #"[[["b","desc"],"a"]]"#,
    ]

    /// Children with an even number stay as they are. Each of them that is selected comes once, in order, whatever
    /// happens to the others between the pages.
    @Test(
        "neither skip nor repeat children that stay while others change between pages",
        arguments: 0..<TestScale.cases(60))
    func between(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let queried = QueriedDatabase(scannedAtOnceMax: random.pick([5, 1000]))
        for number in 0..<60 { try queried.set("l/k\(number)", Self.child(&random)) }
        try queried.index(random.pick(Self.indexes))
        let asked = random.pick(Self.queries)
        let isStable = { (key: String) in Int(key.dropFirst()).map { $0.isMultiple(of: 2) } ?? false }
        let expected = try queried.page("{\(asked)}").keys.filter(isStable)
        var keys: [String] = []
        var after = ""
        while true {
            let page = try queried.page(#"{\#(asked),"limit":\#(Int.random(in: 1...5, using: &random))\#(after)}"#)
            keys += page.keys.filter(isStable)
            guard let next = page.next else { break }
            after = #","after":"\#(String(decoding: next, as: UTF8.self))""#
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let number = 2 * Int.random(in: 0..<40, using: &random) + 1
                try queried.set("l/k\(number)", random.pick(["null", Self.child(&random)]))
            }
        }
        #expect(keys == expected, "seed \(seed): \(asked)")
    }

    @Test(
        "find what there is at their end when data changes while children are looked at",
        arguments: 0..<TestScale.cases(120))
    func stepwise(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let queried = QueriedDatabase(scannedAtOnceMax: 5)
        let model = QueriedDatabase()
        // Of many children an index names more than one step collects.
        let count = random.pick([50, 150])
        func write(_ random: inout SeededRandom) throws {
            let path = "l/k\(Int.random(in: 0..<count, using: &random))"
            let text = random.pick(["null", Self.child(&random), Self.child(&random)])
            for database in [queried, model] { try database.set(path, text) }
        }
        for _ in 0..<2 * count { try write(&random) }
        try queried.index(random.pick(Self.indexes))
        for _ in 0..<6 {
            let rest = random.pick([#""limit":4"#, #""limit":null"#, #""aggregate":["count","sum","max"],"of":"b""#])
            let asked = rest.contains("aggregate") ? #""where":[["a",">=",0]]"# : random.pick(Self.queries)
            let query = try ConditionParser.query(Array("{\(asked),\(rest)}".utf8))
            var others = random
            let page = try queried.page(query) {
                for _ in 0..<Int.random(in: 0...2, using: &others) { try write(&others) }
            }
            random = others
            #expect(page.text == (try model.page(query).text), "seed \(seed): \(asked),\(rest)")
        }
    }
}
