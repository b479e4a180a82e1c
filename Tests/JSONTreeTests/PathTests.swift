import HearthJSONTree
import HearthTreeText
import HearthTestSupport
import Testing

@Suite("Paths") struct PathTests {
    @Test(
        "the realtime text form drops empty parts and knows no escapes",
        arguments: [
            ("", []), ("/", []), ("//", []), ("a", ["a"]), ("/a/b", ["a", "b"]), ("a//b/", ["a", "b"]),
            ("/rooms/a b/%20", ["rooms", "a b", "%20"]), ("ü/😀", ["ü", "😀"]), ("/0/-1/007", ["0", "-1", "007"]),
        ])
    func parsing(text: String, keys: [String]) throws {
        let path = try Path(parsing: text)
        #expect(path.keys.map(\.description) == keys)
        #expect(path.depth == keys.count)
        #expect(path.isRoot == keys.isEmpty)
        #expect(path.text == Array(keys.joined(separator: "/").utf8))
        #expect(try Path(parsing: path.text) == path)
        #expect(Path(validatingEncoded: path.encoded) == path)
    }

    @Test(
        "a URL path is split first and decoded then",
        arguments: [
            ("/a%20b/%C3%BC", ["a b", "ü"]), ("/a+b", ["a+b"]), ("//foo//x/", ["foo", "x"]), ("", []),
            ("/;:@'()*!~,", [";:@'()*!~,"]), ("%e2%82%ac", ["€"]),
        ])
    func percent(text: String, keys: [String]) throws {
        #expect(try Path(percentEncoded: text).keys.map(\.description) == keys)
    }

    @Test("wrong URL paths are refused")
    func wrongPercent() {
        func error(_ text: String) -> PathError? {
            do throws(PathError) { _ = try Path(percentEncoded: text) } catch { return error }
            return nil
        }
        #expect(error("/a/x%2Fy") == .key(.forbidden(byte: 0x2F), index: 1))
        #expect(error("/a%00") == .key(.forbidden(byte: 0), index: 0))
        #expect(error("/%C3") == .key(.invalidUTF8, index: 0))
        for text in ["%", "a%2", "%zz", "%2g", "%+1"] { #expect(error(text) == .invalidPercentEncoding) }
        #expect(error("/a.b") == .key(.forbidden(byte: 0x2E), index: 0))
    }

    @Test("32 levels are the limit")
    func depth() throws {
        let deepest = Array(repeating: "k", count: 32).joined(separator: "/")
        #expect(try Path(parsing: deepest).depth == 32)
        #expect(throws: PathError.tooDeep) { try Path(parsing: deepest + "/k") }
        #expect(throws: PathError.key(.forbidden(byte: 0x23), index: 1)) { try Path(parsing: "a/#/b") }
    }

    @Test("the longest and the shortest keys have room", arguments: ["k", "7", "0007", "é"])
    func room(letter: String) throws {
        for count in [1, Key.maximumByteCount / letter.utf8.count] {
            let key =
                letter == "0007"
                ? String(repeating: "0", count: count - 1) + "7" : String(repeating: letter, count: count)
            let path = try Path(parsing: Array(repeating: key, count: 32).joined(separator: "/"))
            #expect(path == Path(Array(repeating: try Key(validating: key), count: 32)))
            let percent = key.utf8.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            #expect(path == (try Path(percentEncoded: Array(repeating: percent, count: 32).joined(separator: "/"))))
        }
    }

    @Test("a write target may name the priority, at the end only")
    func target() throws {
        let priority = try WriteTarget(parsing: "/a/b/.priority")
        #expect(priority == WriteTarget(path: try Path(parsing: "a/b"), isPriority: true))
        #expect(try WriteTarget(parsing: ".priority/") == WriteTarget(path: .root, isPriority: true))
        #expect(try WriteTarget(parsing: "/a/b") == WriteTarget(path: try Path(parsing: "a/b")))
        let dotted = PathError.key(.forbidden(byte: UInt8(ascii: ".")), index: 1)
        #expect(throws: dotted) { try WriteTarget(parsing: "a/.priority/b") }
        #expect(throws: dotted) { try WriteTarget(parsing: "a/.priority/.priority") }
        #expect(throws: dotted) { try WriteTarget(parsing: "a/.value") }
        #expect(throws: dotted) { try Path(parsing: "a/.priority") }
    }

    @Test("parents, keys, joins and suffixes agree with lists of keys", arguments: [1, 2] as [UInt64])
    func lists(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        for _ in 0..<300 {
            let keys = try (0..<Int.random(in: 0...4, using: &random.random)).map { _ in try key(random.key()) }
            let path = Path(keys)
            #expect(Array(path.keys) == keys)
            #expect(path.firstKey == keys.first)
            #expect(path.lastKey == keys.last)
            #expect(path.parent == (keys.isEmpty ? nil : Path(keys.dropLast())))
            #expect(path.segments.map { path.key(at: $0) } == keys)
            #expect(try Path(parsing: path.text) == path, "seed \(seed)")
            #expect(Path(validatingEncoded: path.encoded) == path, "seed \(seed)")
            for cut in 0...keys.count {
                let (head, tail) = (Path(keys[..<cut]), Path(keys[cut...]))
                #expect(head.appending(tail) == path)
                #expect(path.suffix(after: head) == tail)
                #expect(head.contains(path))
                #expect(path.contains(head) == (cut == keys.count))
            }
        }
    }

    @Test("the order of encodings is that of a walk, and a subtree is a range", arguments: [1, 2, 3] as [UInt64])
    func order(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        random.keyPool = (0..<6).map { _ in random.key() }
        for _ in 0..<1500 {
            let a = (0..<Int.random(in: 0...3, using: &random.random)).map { _ in random.key() }
            let b = (0..<Int.random(in: 0...3, using: &random.random)).map { _ in random.key() }
            let (pathA, pathB) = (try path(a), try path(b))
            let precedes = a.lexicographicallyPrecedes(b, by: TreeModel.keyPrecedes)
            #expect((pathA < pathB) == precedes, "seed \(seed): \(pathA) \(pathB)")
            #expect(pathA.encoded.lexicographicallyPrecedes(pathB.encoded) == precedes, "seed \(seed)")
            let isBelow = b.starts(with: a)
            #expect(pathA.contains(pathB) == isBelow, "seed \(seed): \(pathA) \(pathB)")
            let isInRange =
                !pathB.encoded.lexicographicallyPrecedes(pathA.encoded)
                && pathB.encoded.lexicographicallyPrecedes(pathA.subtreeEnd)
            #expect(isInRange == isBelow, "seed \(seed): \(pathA) \(pathB)")
        }
    }

    @Test("bytes that no path encodes to are refused")
    func encodings() throws {
        let good = try Path(parsing: "a/7/ü").encoded
        #expect(Path(validatingEncoded: good) != nil)
        for end in 1..<good.count where ![3, 10].contains(end) {
            #expect(Path(validatingEncoded: Array(good[..<end])) == nil, "cut at \(end)")
        }
        let bad: [[UInt8]] = [
            [0x30], [0x20, 0x00], [0x20, 0x37, 0x00],  // `7` as text
            [0x20, 0x2E, 0x00], [0x20, 0xFF, 0x00], [0x10, 0x80, 0, 0, 1, 0, 1],  // `-1` as a negative zero
            [0x10, 0x80, 0, 0, 0, 0xFF, 0xFE],
        ]
        for bytes in bad { #expect(Path(validatingEncoded: bytes) == nil, "\(bytes)") }
    }
}
