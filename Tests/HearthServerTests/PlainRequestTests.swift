import HearthDelivery
import HearthTestSupport
import HearthWireProtocol
import HearthServerProtocol
import Testing

@Suite("A set or a get in the words of the SDKs")
struct PlainRequestTests {
    private func read(_ text: [UInt8]) -> String {
        do {
            return "\(try text.withUnsafeBytes { (bytes) throws(MessageError) in try ClientMessage.read(bytes) })"
        } catch {
            return "\(error)"
        }
    }

    /// The same message with a space in it, which the general reader gets.
    private func readGenerally(_ text: [UInt8]) -> String {
        read(Array(text.prefix(1)) + [0x20] + Array(text.dropFirst()))
    }

    @Test("means the same as in other words, whatever the path and the value", arguments: 0..<200 as Range<UInt64>)
    func values(seed: UInt64) {
        var trees = RandomTrees(seed: seed)
        let value = trees.tree(depth: 4).canonicalText
        let path = trees.pick(["/a", "a/b", "", "/", "a//b/", "a/.priority", "a/.priority/b", "é", "007/1", "a.b", "#"])
        for rest in [#""p","b":{"p":"\#(path)","d":\#(value)}}}"#, #""g","b":{"p":"\#(path)","q":{}}}}"#] {
            let text = Array(#"{"t":"d","d":{"r":\#(seed * 7919),"a":\#(rest)"#.utf8)
            #expect(read(text) == readGenerally(text), "seed \(seed): \(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test(
        "or is left to the general reader where it differs by anything",
        arguments: [
            #"{"t":"d","d":{"r":12,"a":"p","b":{"p":"/a/b","d":{"x":[1,null],"y":"\u00e9"}}}}"#,
            #"{"t":"d","d":{"r":12,"a":"g","b":{"p":"/a/b","q":{}}}}"#,
        ])
    func differences(text: String) {
        let bytes = Array(text.utf8)
        for offset in bytes.indices {
            #expect(read(Array(bytes[..<offset])) == readGenerally(Array(bytes[..<offset])), "cut at \(offset)")
            for byte in [0x20, 0x22, 0x2C, 0x30, 0x5C, 0x7D, 0x80] as [UInt8] {
                var changed = bytes
                changed[offset] = byte
                // Offsets of errors differ by the space; all else must not.
                let (quick, general) = (read(changed), readGenerally(changed))
                let isError = quick.contains("Error") || quick.contains("invalidRequest")
                #expect(isError ? general.contains("Error") || general.contains("invalidRequest") : quick == general)
            }
        }
    }
}
