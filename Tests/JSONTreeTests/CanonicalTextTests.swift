import HearthTestSupport
import Testing

@testable import HearthJSONTree

@Suite("Recognising canonical text")
struct CanonicalTextTests {
    private func end(_ text: String, depth: Int = 32, stringByteCount: Int = 10 << 20) -> Int? {
        let limits = CanonicalJSON.Limits(depth: depth, stringByteCount: stringByteCount)
        return Array(text.utf8).withUnsafeBytes { CanonicalText.end(of: $0, from: 0, limits: limits) }
    }

    private func outcome(_ text: [UInt8], limits: CanonicalJSON.Limits) -> String {
        do throws(JSONError) {
            let (value, hasServerValues) = try CanonicalJSON.parse(text, limits: limits)
            return "\(value) \(hasServerValues)"
        } catch {
            return "\(error.kind)"
        }
    }

    /// After a space everything is left to the parser.
    private func parserOutcome(_ text: [UInt8], limits: CanonicalJSON.Limits) -> String {
        outcome([0x20] + text, limits: limits)
    }

    @Test(
        "what needs only to be copied",
        arguments: [
            #"true"#, "false", "0", "7", "-7", "123456789012345678", "0.5", "-12.25", "0.0001", #""""#, #""a b""#,
            #""é😀""#, #"{"a":1}"#, #"{"a":1,"b":{"c":"d"},"e":false}"#, #"{"-Nabc":1,"-Nabd":2}"#,
            #"{"a":1,"ab":2,"b":3}"#, #"{"A":1,"a":2}"#,
        ])
    func recognised(text: String) throws {
        #expect(end(text) == text.utf8.count)
        #expect(end(text + ",x") == text.utf8.count)
        #expect(try CanonicalJSON.parse(Array(text.utf8)).value.description == text)
    }

    @Test(
        "what is for the parser",
        arguments: [
            "", " 1", "null", "tru", "-", "-0", "01", "1.", "1.0", "1.50", "1e3", "1.5e3", "1234567890123456789",
            "0.00001", "1234567.123456789", #""a"#, #""\n""#, "\"\n\"", "\"\u{1}\"", #"{}"#, "[1]", #"{"a":null}"#,
            #"{"a":1,"a":2}"#, #"{"b":1,"a":2}"#, #"{"ab":1,"a":2}"#, #"{"a" :1}"#, #"{"a":1, "b":2}"#, #"{"a":1,}"#,
            #"{"1":1}"#, #"{"-1":1}"#, #"{"é":1}"#, #"{".priority":1,"a":1}"#, #"{".sv":"timestamp"}"#, #"{"":1}"#,
            #"{"a.b":1}"#, #"{"a\u0062":1}"#, #"{"a":1"#, #"{"a":"#, #"{"a"}"#, #"{"a":[]}"#,
        ])
    func notRecognised(text: String) { #expect(end(text) == nil || end(text)! < text.utf8.count) }

    @Test("limits are the parser's")
    func limits() {
        #expect(end(#"{"a":{"b":1}}"#, depth: 2) == 13)
        #expect(end(#"{"a":{"b":1}}"#, depth: 1) == nil)
        #expect(end(#""abc""#, stringByteCount: 3) == 5)
        #expect(end(#""abcd""#, stringByteCount: 3) == nil)
        let key = String(repeating: "k", count: Key.maximumByteCount)
        #expect(end("{\"\(key)\":1}") != nil)
        #expect(end("{\"\(key)k\":1}") == nil)
    }

    @Test("means what the parser finds, also where bytes are changed", arguments: 0..<300 as Range<UInt64>)
    func sameAsParser(seed: UInt64) {
        var trees = RandomTrees(seed: seed)
        let tree = trees.tree(depth: 4)
        let limits = CanonicalJSON.Limits(
            depth: trees.pick([1, 2, 5, 32]), stringByteCount: trees.pick([3, 10, 1000]))
        for text in [tree.canonicalText, trees.noisyText(tree)] {
            var bytes = Array(text.utf8)
            for _ in 0..<20 {
                let (quick, general) = (outcome(bytes, limits: limits), parserOutcome(bytes, limits: limits))
                #expect(quick == general, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
                guard let place = bytes.indices.randomElement(using: &trees.random) else { break }
                bytes[place] = trees.pick(Array(#"{}[]":,.\01-et aZ"#.utf8) + [0x00, 0x7F, 0x80, 0xC3, 0xED])
            }
        }
    }
}
