import HearthJSONPieces
import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("JSON in pieces")
struct JSONPiecesTests {
    /// What writing all pieces in order makes of a value, and the greatest piece.
    private func read(
        _ text: [UInt8], into start: CanonicalJSON = .null, at place: Path = .root, merges: Bool = false,
        pieceBytesMax: Int, split: (Int) -> Int
    ) throws(JSONPieceError) -> CanonicalJSON {
        var pieces = JSONPieces(at: place, merges: merges, pieceBytesMax: pieceBytesMax)
        var value = start
        var rest = text[...]
        while true {
            switch try pieces.next() {
            case .end: return value
            case .needsMore where rest.isEmpty: pieces.finish()
            case .needsMore:
                let count = min(max(split(rest.count), 1), rest.count)
                rest.prefix(count).withUnsafeBytes { pieces.append($0) }
                rest = rest.dropFirst(count)
            case .piece(.value(let path, let json, _)): value = value.setting(json, at: path)
            case .piece(.clear(let path)): value = value.setting(.null, at: path)
            case .piece(.priority(let path, let priority, _)):
                value = value.settingPriority(priority, at: path) ?? .null
            }
        }
    }

    @Test("pieces of any size, from a text split anywhere, make the value of the text")
    func sameAsWhole() throws {
        for seed in 0..<TestScale.cases(80) {
            var trees = RandomTrees(seed: seed)
            let text = Array(trees.noisyText(trees.tree(depth: 5)).utf8)
            let whole = try CanonicalJSON.parse(text).value
            var random = SeededRandom(seed: seed)
            for pieceBytesMax in [1, 7, 40, 100_000] {
                for step in [1, 9, 100_000] {
                    let value = try read(text, pieceBytesMax: pieceBytesMax) { _ in
                        Int.random(in: 1...step, using: &random)
                    }
                    #expect(value == whole, "seed \(seed), pieces of \(pieceBytesMax), steps of \(step)")
                }
            }
        }
    }

    @Test("a wrong text is refused where the whole text would be, whatever the size of pieces")
    func sameErrors() throws {
        let noise = Array("{}[]\",:.x0-\\ \u{1}\u{ff}".utf8)
        var errors = 0
        for seed in 0..<(200 * TestScale.factor) {
            var trees = RandomTrees(seed: seed)
            var text = Array(trees.noisyText(trees.tree(depth: 4)).utf8)
            var random = SeededRandom(seed: seed)
            let place = Int.random(in: 0..<text.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: text.removeSubrange(place...)
            case 1: text[place] = noise.randomElement(using: &random)!
            default: text.insert(noise.randomElement(using: &random)!, at: place)
            }
            let whole = Result { () throws(JSONError) in try CanonicalJSON.parse(text).value }
            for pieceBytesMax in [1, 30, 100_000] {
                let pieces = Result { () throws(JSONPieceError) in
                    try read(text, pieceBytesMax: pieceBytesMax) { Int.random(in: 1...$0, using: &random) }
                }
                let shown = "seed \(seed), pieces of \(pieceBytesMax): \(String(decoding: text, as: UTF8.self))"
                switch (whole, pieces) {
                case (.success(let whole), .success(let pieces)): #expect(whole == pieces, "\(shown)")
                case (.failure(let whole), .failure(let pieces)):
                    errors += 1
                    // Mistakes next to metadata may be found a little sooner or later.
                    guard !["\".", "\"\\u002e", "\"\\u002E"].contains(where: shown.contains) else { continue }
                    #expect(whole == pieces.error, "\(shown)")
                default: Issue.record("\(shown): \(whole) \(pieces)")
                }
            }
        }
        #expect(errors > 100)
    }

    @Test("merging replaces the children that the text names, and keeps the others")
    func merging() throws {
        let old = try CanonicalJSON.parse(
            Array(#"{".priority":1,"a":{"x":1},"b":{"y":2},"c":3,"0":"zero"}"#.utf8)
        ).value
        let text = Array(#"{"b":{"z":[1,2,3,{"deep":"value"}]},"c":null,"d":true,"a":{}}"#.utf8)
        for pieceBytesMax in [1, 8, 1000] {
            let value = try read(text, into: old, merges: true, pieceBytesMax: pieceBytesMax) { _ in 5 }
            let expected = #"{".priority":1,"0":"zero","b":{"z":{"0":1,"1":2,"2":3,"3":{"deep":"value"}}},"d":true}"#
            #expect(value.description == expected)
        }
    }

    @Test("a key that comes twice has its last value, however its values were cut")
    func repeatedKeys() throws {
        let text = Array(#"{"b":1,"a":{"x":1,"y":[1,2,3]},"c":{"d":1},"a":{"z":2},"c":7,"b":{"q":1},"b":null}"#.utf8)
        for pieceBytesMax in 1...40 {
            let value = try read(text, pieceBytesMax: pieceBytesMax) { $0 }
            #expect(value.description == #"{"a":{"z":2},"c":7}"#)
        }
    }

    @Test(
        "errors say where, in the text and in the tree",
        arguments: [
            (#"{"a":{"b":[1,{"c":tru}]}}"#, "at byte 21, in /a/b/1/c: unexpected character }"),
            (#"{"a":{"b":1,"x/y":2}}"#, "at byte 12, in /a: a key contains one of . $ # [ ] / or a control character"),
            (
                #"{"a":{"b":1,".what":2}}"#,
                "at byte 12, in /a: a key starts with a dot and is not .priority, .value or .sv"
            ),
            (
                #"{"a":{"b":{".priority":true,"c":1}}}"#,
                "at byte 23, in /a/b: a priority is neither null, a number nor a string"
            ),
            (#"{"a":1}}"#, "at byte 7, in /: unexpected text after the JSON value"),
            (#"{"a":[1,2"#, "at byte 9, in /a: the JSON text ends too early"),
            ("", "at byte 0, in /: the JSON text ends too early"),
            (#"{"a":{"":1}}"#, "at byte 6, in /a: a key is empty"),
        ])
    func positions(text: String, message: String) {
        for pieceBytesMax in [1, 1000] {
            let error = #expect(throws: JSONPieceError.self) {
                try read(Array(text.utf8), pieceBytesMax: pieceBytesMax) { _ in 3 }
            }
            // Within a piece the innermost place is that of the last key.
            guard let error else { continue }
            let isSame = error.description.replacing("/a/b/.priority", with: "/a/b") == message
            #expect(isSame, "pieces of \(pieceBytesMax): \(error)")
        }
    }

    @Test("the depth counts from the root of the database")
    func depth() throws {
        let deep = Path((0..<30).map { Key($0) })
        let fits = Array(#"{"a":{"b":1}}"#.utf8)
        for pieceBytesMax in [1, 1000] {
            let value = try read(fits, at: deep, pieceBytesMax: pieceBytesMax) { $0 }
            #expect(value.value(at: deep).description == #"{"a":{"b":1}}"#)
            let error = #expect(throws: JSONPieceError.self) {
                try read(Array(#"{"a":{"b":[1]}}"#.utf8), at: deep, pieceBytesMax: pieceBytesMax) { $0 }
            }
            // The element that is too deep has a place as well.
            let message = error?.description.replacing("/a/b/0:", with: "/a/b:")
            #expect(message?.hasSuffix("/a/b: deeper than 32 levels") == true, "\(error as Any)")
        }
    }

    @Test("a string too long for a value is refused without being read to its end")
    func longString() throws {
        var pieces = JSONPieces(at: .root, pieceBytesMax: 1, stringByteCount: 10)
        Array("{\"a\":\"\(String(repeating: "x", count: 100))".utf8).withUnsafeBytes { pieces.append($0) }
        let error = #expect(throws: JSONPieceError.self) { while case .piece = try pieces.next() {} }
        #expect(error?.error.kind == .stringTooLong(limit: 10))
    }

    @Test("what is read is forgotten")
    func memory() throws {
        var pieces = JSONPieces(at: .root, pieceBytesMax: 100)
        var count = 0
        Array("[".utf8).withUnsafeBytes { pieces.append($0) }
        for _ in 0..<1000 {
            Array(#"{"name":"x","list":[1,2,3]},"#.utf8).withUnsafeBytes { pieces.append($0) }
            while case .piece = try pieces.next() { count += 1 }
        }
        #expect(count >= 999)
        #expect(pieces.offset > 28 * 999)
    }
}
