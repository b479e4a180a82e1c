import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthConnection

@Suite("The writes of an import")
struct ImportReaderTests {
    /// The writes, and their result on an empty database.
    private func read(_ text: [UInt8], at base: Path = .root) throws(ImportFailure) -> (
        [ImportBatches.Write], CanonicalJSON
    ) {
        var reader = ImportReader(base: base, merges: false)
        var writes: [ImportBatches.Write] = []
        var value = CanonicalJSON.null
        var rest = text[...]
        var lastOffset = 0
        while true {
            while let (write, offset) = try reader.next() {
                #expect(offset >= lastOffset && offset <= reader.offset)
                lastOffset = offset
                writes.append(write)
                switch write {
                case .set(let assignment): apply(assignment, to: &value)
                case .update(let assignments):
                    for assignment in assignments { apply(assignment, to: &value) }
                }
            }
            if rest.isEmpty, reader.offset == text.count { return (writes, value) }
            if rest.isEmpty { reader.finish() }
            reader.append(Array(rest.prefix(10_000)))
            rest = rest.dropFirst(10_000)
        }
    }

    private func apply(_ assignment: WireAssignment, to value: inout CanonicalJSON) {
        let target = assignment.target
        value =
            target.isPriority
            ? value.settingPriority(assignment.value, at: target.path) ?? .null
            : value.setting(assignment.value, at: target.path)
    }

    /// An object of some megabytes, in disorder, with priorities and keys that come again.
    private func largeText(seed: UInt64) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var text = Array(#"{".priority":1"#.utf8)
        for _ in 0..<120 {
            let key = Int.random(in: 0..<80, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: text += #","k\#(key)":null"#.utf8
            case 1: text += #","k\#(key)":{".value":\#(key),".priority":"p"}"#.utf8
            default:
                text += #","k\#(key)":{"#.utf8
                for child in 0..<Int.random(in: 1...300, using: &random) {
                    let filler = String(repeating: "x", count: Int.random(in: 0...200, using: &random))
                    text += #"\#(child > 0 ? "," : "")"c\#(child)":{"n":\#(child),"t":"\#(filler)"}"#.utf8
                }
                text += #",".priority":\#(key)}"#.utf8
            }
        }
        return text + "}".utf8
    }

    @Test("make the value, are no larger than they should be, and name no place inside another")
    func writes() throws {
        for seed in 0..<(2 * TestScale.factor) {
            let text = largeText(seed: seed)
            let (writes, value) = try read(text)
            #expect(try value == CanonicalJSON.parse(text).value, "seed \(seed)")
            #expect(writes.count > 1, "seed \(seed)")
            for case .update(let assignments) in writes {
                let bytes = assignments.reduce(0) { $0 + $1.value.bytes.count }
                #expect(bytes <= 1 << 20 || assignments.count == 1, "seed \(seed)")
                let places = assignments.map(\.target.path).sorted()
                for (place, next) in zip(places, places.dropFirst()) {
                    #expect(!place.contains(next), "seed \(seed): \(place) and \(next)")
                }
            }
        }
    }

    @Test("set no more rows at once than a server lets everybody set")
    func rows() throws {
        let leaves = (0..<9000).map { #""k\#(10_000 + $0)":1"# }.joined(separator: ",")
        let objects = (0..<9000).map { #""o\#(10_000 + $0)":{"a":1,"b":2}"# }.joined(separator: ",")
        var reader = ImportReader(base: .root, merges: true)
        reader.append(Array("{\"a\":{\(leaves)},\"b\":{\(objects)}}".utf8))
        reader.finish()
        var places = 0
        while let (write, _) = try reader.next() {
            guard case .update(let assignments) = write else { continue }
            places += assignments.count
            // An object counts as three.
            #expect(assignments.reduce(0) { $0 + ($1.value == "1" ? 1 : 3) } <= 8000)
        }
        #expect(places == 18_000)
    }

    @Test("a small value is one write")
    func small() throws {
        let json: CanonicalJSON = #"{"a":1}"#
        let base: Path = "x/y"
        let (writes, _) = try read(json.bytes, at: base)
        #expect(writes == [.set(WireAssignment(target: WriteTarget(path: base), value: json))])
    }

    @Test("a string that no write can hold is refused with its place")
    func tooLarge() throws {
        // Each of these characters takes six bytes as JSON.
        let text = Array(#"{"a":{"b":"\#(String(repeating: "\\u0001", count: 3_000_000))"}}"#.utf8)
        #expect {
            try read(text)
        } throws: { error in
            guard case ImportFailure.tooLarge(let error) = error else { return false }
            return error.path == ("a/b" as Path) && error.byteCount == 18_000_002
        }
    }
}
