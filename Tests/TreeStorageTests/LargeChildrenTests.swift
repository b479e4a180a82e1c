import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthTreeStorage

@Suite("children that come as one text")
struct LargeChildrenTests {
    @Test("leave the others of a place that came as text, while old rows above it are being removed")
    func amidClearing() throws {
        let folder = TemporaryFolder()
        let disk = try DatabaseOnDisk(folder: folder.path, durability: .memory)
        func run(_ operation: Operation) throws { try disk.commit(disk.process([[operation]])) }
        func set(_ path: Path, _ value: CanonicalJSON) throws {
            try run(.set(WriteTarget(path: path), IncomingValue(json: value)))
            try disk.apply()
        }
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 20))
        let many = (0..<30).reduce(CanonicalJSON.null) { $0.setting(text, at: Path([Key($1)])) }
        try set(.root, many)
        try set(.root, #"{"a":1}"#)
        #expect(disk.tree.isClearing)
        try set("x", many)
        let entry = (target: WriteTarget(path: "x/0"), value: IncomingValue(json: many))
        try run(try #require(Operation.update(base: "x", [entry]).asText(childrenOf: "x")))
        #expect(try disk.value(at: "x") == many.setting(many, at: "0"))
    }
}
