import HearthJSONTree
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("a tree in rows")
struct TreeRowsTests {
    @Test("agrees with one value after random steps", arguments: 0..<(8 * TestScale.factor))
    func agreesWithModel(seed: UInt64) {
        var knownCount = 0
        for seed in seed * 10..<seed * 10 + 10 {
            var generator = StepGenerator(seed: seed)
            let packing = generator.packing()
            let residentBytesMax = generator.residentBytesMax()
            let steps = (0..<120).map { _ in generator.step() }
            let paths = (0..<6).map { _ in generator.path() } + [.root]
            func failure(_ steps: [TreeRowsMachine.Step]) -> String? {
                var machine = TreeRowsMachine(packing: packing, residentBytesMax: residentBytesMax)
                machine.run(steps, checking: paths)
                knownCount += machine.knownCount
                return machine.failure
            }
            guard failure(steps) != nil else { continue }
            let fewest = shrunk(steps) { failure($0) != nil }
            Issue.record("seed \(seed): \(failure(fewest) ?? "") after \(fewest) with \(packing)")
        }
        #expect(knownCount > 0, "memory knew no value")
    }

    /// All sequences of three steps from each of three beginnings.
    @Test("agrees with one value after every short sequence of steps", arguments: 0..<3)
    func agreesExhaustively(beginning: Int) {
        let packing = RowPacking(packedBytesMax: 10, repackBytesMax: 7)
        let start = Self.beginnings[beginning] + [.reopen]
        for first in Self.alphabet {
            for second in Self.alphabet {
                for third in Self.alphabet {
                    let steps = start + [first, second, third]
                    var machine = TreeRowsMachine(packing: packing, deletedAtOnceMax: 1)
                    machine.run(steps, checking: ["", "a", "a/b", "a/b/x", "a/c", "b"])
                    if let failure = machine.failure {
                        Issue.record("\(failure) after \(steps)")
                        return
                    }
                }
            }
        }
    }

    @Test("touching the nodes of places asks no store, and leaves unknown ones unknown")
    func touching() throws {
        let store = CountingStore()
        let rows = TreeRows(store: store, packing: RowPacking(packedBytesMax: 10, repackBytesMax: 7))
        try rows.set(#"{"b":{"x":"long text"},"c":"another text"}"#, at: "a")
        _ = try rows.read("a/b/x")
        let read = store.rowsRead
        let paths: [Path] = ["", "a", "a/b/x", "a/b/x/y", "a/c", "a/none", "none", "none/below"]
        rows.touch(paths.indices) { paths[$0].encoded.withUnsafeBytes { $0 } }
        #expect(store.rowsRead == read)
        #expect(try rows.read("a/c") == #""another text""#)
        #expect(try rows.read("none").isNull)
    }

    private static let beginnings: [[TreeRowsMachine.Step]] = [
        [],
        [.set("a", #"{"b":{"x":1,"y":2,"z":3},"c":"long enough"}"#), .set("b", "1")],
        [.set("", #"{".priority":1,"a":{".priority":"p","b":"long text"}}"#)],
    ]

    private static let alphabet: [TreeRowsMachine.Step] = [
        .set("", "null"), .set("a", "null"), .set("a/b", "null"), .set("a/b/x", "null"),
        .set("a", "1"), .set("a/b/x", "1"), .set("b", #""a long leaf""#),
        .set("a", #"{"b":{"x":"long text"},"d":1}"#), .set("a/b", #"{"y":{"z":1},"z":2}"#),
        .attach("a", #"{"b":{"x":"long text"},"e":1}"#), .attach("a/b", #"{".priority":1,"y":"long text"}"#),
        .setPriority("", "1"), .setPriority("a", "2"), .setPriority("a", "null"),
        .freeze, .apply, .clear, .trim, .read("a/b"), .exists("a"),
    ]

    @Test("a text that is copied over a value changes neither what was read before nor what was frozen")
    func copying() throws {
        let rows = TreeRows(store: MemoryRowStore(), packing: RowPacking(packedBytesMax: 10, repackBytesMax: 7))
        try rows.set(#"{"b":"before","c":"others"}"#, at: "a")
        let read = try rows.read("a/b")
        let frozen = try #require(rows.freeze()).changes
        try rows.set(text: #""behind""#, at: "a/b")
        #expect(read == #""before""#)
        #expect(frozen.rows.map(\.value) == [.subtree(#""before""#), .subtree(#""others""#)])
        #expect(try rows.read("a") == #"{"b":"behind","c":"others"}"#)
    }

    @Test("is not read beyond a limit, unless it is one row")
    func limitedReads() throws {
        let store = MemoryRowStore()
        let value: CanonicalJSON = #"{"a":"0123456789","b":"0123456789","c":"0123456789"}"#
        for isKnown in [true, false] {
            var rows = TreeRows(store: store, packing: .init(packedBytesMax: 20, repackBytesMax: 10))
            if isKnown {
                try rows.set(value, at: .root)
                store.apply(try #require(rows.freeze()).changes)
            } else {
                rows = TreeRows(store: store, packing: .init(packedBytesMax: 20, repackBytesMax: 10))
            }
            #expect(try rows.read(.root, bytesMax: value.bytes.count) == value)
            for limit in 0..<value.bytes.count - 1 {
                #expect("limit \(limit)") {
                    try rows.read(.root, bytesMax: limit)
                } throws: { error in
                    if case .tooLarge? = error as? TreeRows.ReadError { true } else { false }
                }
            }
            #expect(try rows.read("b", bytesMax: 3) == #""0123456789""#)
        }
    }

    @Test("cuts off what is removed at once, and takes it apart step by step")
    func cutting() throws {
        let rows = TreeRows(store: MemoryRowStore())
        let children = (0..<5000).map { #""\#($0)":{"deep":"\#(String(repeating: "x", count: 3000))","n":1}"# }
        try rows.set(CanonicalJSON(stringLiteral: "{\(children.joined(separator: ","))}"), at: "wide")
        let full = rows.residentBytes
        try rows.set(.null, at: "wide")
        #expect(try rows.read(.root) == .null)
        var last = rows.residentBytes
        #expect(last > full - 1000)
        while rows.trimBacklog > 0 {
            rows.trim(looks: 10)
            #expect(rows.residentBytes >= last - 10 * 4000)
            last = rows.residentBytes
        }
        #expect(last < 1000)
        #expect(rows.accountingProblem == nil)
    }

    @Test("packs what has shrunk once the store can be read again")
    func packingAfterFailure() throws {
        let store = MemoryRowStore()
        let rows = TreeRows(store: store, packing: .init(packedBytesMax: 20, repackBytesMax: 15))
        try rows.set(#"{"a":"0123456789","b":"0123456789","c":1}"#, at: "d")
        store.apply(try #require(rows.freeze()).changes)
        let reopened = TreeRows(store: store, packing: .init(packedBytesMax: 20, repackBytesMax: 15))
        try reopened.set(.null, at: "d/a")
        try reopened.set(.null, at: "d/b")
        store.readsLeft = 0
        // Changes do not wait for that.
        store.apply(try #require(reopened.freeze()).changes)
        #expect(reopened.packingFailure != nil)
        #expect(store.all.map(\.value) == [.subtree("1")])
        store.readsLeft = nil
        store.apply(try #require(reopened.freeze()).changes)
        // A turn may freeze twice before anybody asks.
        #expect(reopened.packingFailure != nil)
        #expect(store.all.map(\.value) == [.subtree(#"{"d":{"c":1}}"#)])
    }

    @Test("keeps to its memory when what it knows grows")
    func growthIsTrimmed() throws {
        let store = MemoryRowStore()
        let rows = TreeRows(store: store, residentBytesMax: 100_000)
        let paths = (0..<400).map { Path([Key(Int32($0))]) }
        for byteCount in [1, 1500, 1700] {
            let value = CanonicalJSON(string: Array(repeating: 0x78, count: byteCount))
            for path in paths { try rows.set(value, at: path) }
            let (generation, changes) = try #require(rows.freeze())
            store.apply(changes)
            rows.applied(generation)
            while rows.trimBacklog > 0 { rows.trim(looks: 64) }
            #expect(rows.residentBytes < 120_000, "with values of \(byteCount) bytes")
            #expect(rows.accountingProblem == nil)
        }
        for path in paths { #expect(try rows.read(path).bytes.count == 1702) }
    }

    @Test("keeps to its memory when it is only read")
    func readingIsTrimmed() throws {
        let store = MemoryRowStore(
            rows: (0..<500).map { Row(key: Path([Key(Int32($0))]).encoded, value: .subtree("1")) })
        let rows = TreeRows(store: store, residentBytesMax: 10_000)
        for index in 0..<1000 {
            _ = try rows.read(Path([Key(Int32(index))]))
            rows.trim(looks: 64)
            #expect(rows.residentBytes < 11_000)
        }
    }
}
