import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@Suite("Compound hashes") struct CompoundHashTests {
    @Test(
        "the vectors of the protocol",
        arguments: [
            ("\"plain\"", ["/"], ["TvwP8RlJDruH6H402UqVRjW6cj0=", ""]),
            (#"{"foo":"bar"}"#, ["foo"], ["LmKmJmXugtGlEGoulMbz86myDNw=", ""]),
            (
                #"{"a":{"x":1,"y":"s"},"b":true}"#, ["a/x", "a/y", "b"],
                ["1MrbPrFkag36VJVl+ntcevAS2SE=", "B8WarqtENjkIAP4fcfcNrofuXyg=", "Vy8D9Hsbji32DvDxsdOYQLghLMc=", ""]
            ),
            ("null", [], [""]),
        ] as [(String, [String], [String])])
    func vectors(text: String, posts: [String], hashes: [String]) throws {
        let posts = try posts.map { try Path(parsing: $0) }
        #expect(
            CompoundHash.hashes(of: try json(text), posts: posts).map { String(decoding: $0, as: UTF8.self) } == hashes)
        #expect(
            CompoundHash.differences(
                in: try json(text), from: .init(hashes: hashes.map { Array($0.utf8) }, posts: posts)) == [])
    }

    @Test("thirty children, cut where a client would cut")
    func thirty() throws {
        let members = (0..<30).map { "\"k\($0 < 10 ? "0" : "")\($0)\":\"\(String(repeating: "v", count: 60))\"" }
        let value = try json("{" + members.joined(separator: ",") + "}")
        let posts = try ["k06", "k13", "k20", "k27", "k29"].map { try Path(parsing: $0) }
        let hashes = CompoundHash.hashes(of: value, posts: posts)
        #expect(String(decoding: hashes[0], as: UTF8.self) == "Uq34AzqS0KX0FGBRbttd4EwWDzg=")
        #expect(hashes[5].isEmpty)
        let edited = value.setting(CanonicalJSON(integer: 1), at: try Path(parsing: "k15"))
        let differences = try #require(CompoundHash.differences(in: edited, from: .init(hashes: hashes, posts: posts)))
        #expect(differences.count == 1)
        #expect(differences[0].after == posts[1])
        #expect(differences[0].through == posts[2])
        #expect(differences[0].value.childCount == 7)
    }

    @Test("lists that do not belong together, and priorities, give no answer")
    func noAnswer() throws {
        let value = try json(#"{"a":1,"b":2}"#)
        let (a, b) = (try Path(parsing: "a"), try Path(parsing: "b"))
        #expect(CompoundHash.differences(in: value, from: .init(hashes: [[]], posts: [a])) == nil)
        #expect(CompoundHash.differences(in: value, from: .init(hashes: [[], [], []], posts: [b, a])) == nil)
        #expect(CompoundHash.differences(in: value, from: .init(hashes: [[], [], []], posts: [a, a])) == nil)
        #expect(
            CompoundHash.differences(
                in: try json(#"{"a":{".value":1,".priority":2}}"#), from: .init(hashes: [[]], posts: [])) == nil
        )
        #expect(
            CompoundHash.differences(in: try json(#"{"a":"{\".priority\":"}"#), from: .init(hashes: [[]], posts: []))?
                .count == 1)
    }

    @Test("a client that merges the differing parts has the value", arguments: Array(1...6) as [UInt64])
    func merging(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        random.keyPool = (0..<7).map { _ in random.key() }
        random.priorities = false
        for round in 0..<40 {
            var client = random.tree(depth: 3)
            var server = random.chance(1, in: 5) ? random.tree(depth: 3) : client
            for _ in 0..<Int.random(in: 0...2, using: &random.random) {
                server.set(random.chance(1, in: 2) ? .null : random.tree(depth: 1), at: random.path(in: server)[...])
            }
            let posts = client.leafPlaces.filter { _ in random.chance(1, in: 3) }
            let hashes = CompoundHash.hashes(of: try json(client.canonicalText), posts: try posts.map { try path($0) })
            let differences = try #require(
                CompoundHash.differences(
                    in: try json(server.canonicalText),
                    from: .init(hashes: hashes, posts: try posts.map { try path($0) })))
            for difference in differences {
                let part = Node(difference.value)
                // The client's values between the ends are replaced by the received ones.
                for place in client.leafPlaces where difference.covers(try path(place)) {
                    client.set(.null, at: place[...])
                }
                for place in server.leafPlaces where difference.covers(try path(place)) {
                    #expect(!part.value(at: try path(place)).isNull, "seed \(seed) round \(round)")
                    client.set(server.child(at: place), at: place[...])
                }
                let places = try server.leafPlaces.filter { difference.covers(try path($0)) }
                #expect(part.leafCount == places.count, "seed \(seed) round \(round)")
            }
            #expect(client.canonicalText == server.canonicalText, "seed \(seed) round \(round)")
        }
    }
}

extension CompoundHash.Difference {
    fileprivate func covers(_ place: Path) -> Bool {
        if let after, place <= after { return false }
        if let through, place > through { return false }
        return true
    }
}

extension Node {
    fileprivate var leafCount: Int { leaf != nil ? 1 : children.reduce(0) { $0 + $1.node.leafCount } }
}

extension TreeModel {
    fileprivate var leafPlaces: [[Text]] {
        if leaf != nil { return [[]] }
        return sortedChildren.flatMap { child in child.value.leafPlaces.map { [child.key] + $0 } }
    }
}
