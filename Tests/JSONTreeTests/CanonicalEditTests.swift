import HearthTreeText
import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Reading and editing canonical text") struct CanonicalEditTests {
    @Test(
        "values are found by path",
        arguments: [
            (
                "",
                #"{".priority":3,"0":[],"a":{"b":{".value":1,".priority":"p"}},"\"":2,"é":{"x":"}"},"-1":true,"k":"\\"}"#
            ),
            ("a", #"{"b":{".value":1,".priority":"p"}}"#), ("a/b", #"{".value":1,".priority":"p"}"#), ("a/b/c", "null"),
            ("\"", "2"), ("é/x", "\"}\""), ("é/x/y", "null"), ("-1", "true"), ("-01", "null"), ("k", #""\\""#),
            ("0", "null"),
            ("zz", "null"),
        ])
    func values(path: String, expected: String) throws {
        let root = try json(
            #"{".priority":3,"0":[],"a":{"b":{".value":1,".priority":"p"}},"\"":2,"é":{"x":"}"},"-1":true,"k":"\\"}"#)
        let path = try Path(parsing: path)
        let expected = try json(expected)
        #expect(root.value(at: path) == expected)
        #expect(root.hasValue(at: path) == !expected.isNull)
        #expect(root.range(of: path).map { root.part($0) } ?? .null == expected)
    }

    @Test("a value tells its shape")
    func shape() throws {
        let leaf = try json(#"{".value":"x",".priority":2}"#)
        #expect(leaf.isLeaf)
        #expect(!leaf.isNull)
        #expect(leaf.priority.description == "2")
        #expect(leaf.part(leaf.leafRange).description == "\"x\"")
        #expect(leaf.childCount == 0)
        let inner = try json(#"{"b":{"c":1},"a":2,".priority":"p,}"}"#)
        #expect(!inner.isLeaf)
        #expect(inner.priority.description == "\"p,}\"")
        #expect(inner.children.map(\.key.description) == ["a", "b"])
        #expect(inner.children.map { inner.part($0.value).description } == ["2", #"{"c":1}"#])
        #expect(CanonicalJSON.null.isNull)
        #expect(!CanonicalJSON.null.isLeaf)
        #expect(CanonicalJSON.null.childCount == 0)
        #expect(!CanonicalJSON.null.hasValue(at: .root))
        #expect(CanonicalJSON(bool: true).isLeaf)
        #expect(CanonicalJSON(bool: true).priority.isNull)
        let placeholder = try json(#"{".sv":"timestamp"}"#)
        #expect(placeholder.isLeaf)
        #expect(placeholder.childCount == 0)
    }

    @Test(
        "a set does what the protocol says",
        arguments: [
            ("null", "a/b", "1", #"{"a":{"b":1}}"#), ("5", "a", "1", #"{"a":1}"#),
            (#"{".value":5,".priority":2}"#, "a/b", "1", #"{".priority":2,"a":{"b":1}}"#),
            (#"{"a":1,"c":3}"#, "b", "2", #"{"a":1,"b":2,"c":3}"#), (#"{"a":1}"#, "0", "2", #"{"0":2,"a":1}"#),
            (#"{"a":1}"#, "z", "2", #"{"a":1,"z":2}"#),
            (#"{"a":1}"#, "a", #"{".value":1,".priority":2}"#, #"{"a":{".priority":2,".value":1}}"#),
            (#"{"a":{".value":1,".priority":2}}"#, "a", "3", #"{"a":3}"#),
            (#"{".priority":7,"a":1}"#, "b", "2", #"{".priority":7,"a":1,"b":2}"#),
            (#"{".priority":7,"a":1}"#, "a", "null", "null"),
            (#"{".priority":7,"a":1,"b":2}"#, "a", "null", #"{".priority":7,"b":2}"#),
            (#"{"a":{"b":{"c":1,".priority":1}},"d":1}"#, "a/b/c", "null", #"{"d":1}"#),
            (#"{"a":1}"#, "b/c", "null", #"{"a":1}"#),
            (#"{"a":1}"#, "a/c", "null", #"{"a":1}"#), (#"{"a":1}"#, "", "null", "null"), (#"{"a":1}"#, "", "2", "2"),
            (#"{"a":1,"b":2,"c":3}"#, "c", "null", #"{"a":1,"b":2}"#), ("{}", "\"/\\", "1", #"{"\"":{"\\":1}}"#),
        ])
    func sets(old: String, path: String, value: String, expected: String) throws {
        let (old, value) = (try json(old), try json(value))
        #expect(old.setting(value, at: try Path(parsing: path)).description == expected)
    }

    @Test(
        "a priority can be set where there is something",
        arguments: [
            ("5", "", "1", #"{".priority":1,".value":5}"#),
            (#"{".value":5,".priority":1}"#, "", "\"x\"", #"{".priority":"x",".value":5}"#),
            (#"{".value":5,".priority":1}"#, "", "null", "5"), (#"{"a":1}"#, "", "2", #"{".priority":2,"a":1}"#),
            (#"{"a":1,".priority":2}"#, "", "null", #"{"a":1}"#),
            (#"{"a":{"b":1}}"#, "a/b", "2", #"{"a":{"b":{".priority":2,".value":1}}}"#),
            ("null", "", "1", nil), (#"{"a":1}"#, "b", "1", nil), (#"{"a":1}"#, "a/b", "null", nil),
        ])
    func priorities(old: String, path: String, priority: String, expected: String?) throws {
        let (old, priority) = (try json(old), try json(priority))
        #expect(old.settingPriority(priority, at: try Path(parsing: path))?.description == expected)
    }

    @Test("random edits of the text are those of the model", arguments: Array(1...10) as [UInt64])
    func edits(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        random.keyPool = (0..<9).map { _ in random.key() }
        var model = TreeModel.null
        var text = CanonicalJSON.null
        for step in 0..<250 {
            let keys = random.path(in: model)
            let path = try path(keys)
            #expect(
                text.value(at: path).description == model.child(at: keys).canonicalText, "seed \(seed) step \(step)")
            if random.chance(1, in: 5) {
                let priority = random.chance(1, in: 3) ? nil : random.priority()
                let value = try priority.map { try json(TreeModel.text(of: $0)) } ?? .null
                let edited = text.settingPriority(value, at: path)
                #expect((edited != nil) == model.setPriority(priority, at: keys[...]), "seed \(seed) step \(step)")
                text = edited ?? text
            } else {
                let value = random.chance(1, in: 3) ? .null : random.tree(depth: random.chance(1, in: 4) ? 3 : 1)
                model.set(value, at: keys[...])
                text = text.setting(try json(value.canonicalText), at: path)
            }
            #expect(text.description == model.canonicalText, "seed \(seed) step \(step) \(path)")
            #expect(
                text.children.map(\.key) == (try model.sortedChildren.map { try key($0.key) }),
                "seed \(seed) step \(step)")
        }
    }

    @Test("damaged text is read without a trap", arguments: [1, 2] as [UInt64])
    func damaged(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        random.keyPool = (0..<4).map { _ in random.key() }
        for _ in 0..<300 {
            let tree = random.tree(depth: 3)
            var bytes = Array(tree.canonicalText.utf8)
            bytes.removeLast(Int.random(in: 0..<min(bytes.count, 8), using: &random.random))
            for _ in 0..<2 where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &random.random)] = random.pick(Array("{}\",:\\.n".utf8))
            }
            let value = CanonicalJSON(trusted: bytes)
            let path = try path(random.path(in: tree))
            _ = value.value(at: path)
            _ = value.setting(CanonicalJSON(integer: 1), at: path)
            _ = value.setting(.null, at: path)
            _ = value.settingPriority(CanonicalJSON(integer: 1), at: path)
            #expect(value.childCount <= bytes.count, "seed \(seed)")
        }
    }
}
