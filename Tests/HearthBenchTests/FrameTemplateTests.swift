import Testing

import HearthBench

@Suite("Frame template")
struct FrameTemplateTests {
    /// The payload of a client's frame, unmasked, and its length as the header has it.
    private static func decode(_ frame: [UInt8]) -> (length: Int, text: String) {
        #expect(frame[0] == 0x81)
        #expect(frame[1] & 0x80 != 0)
        let short = Int(frame[1] & 0x7F)
        let extra = short < 126 ? 0 : short == 126 ? 2 : 8
        let length = extra == 0 ? short : frame[2..<2 + extra].reduce(0) { $0 << 8 | Int($1) }
        let key = Array(frame[(2 + extra)..<(6 + extra)])
        let payload = frame[(6 + extra)...].enumerated().map { $1 ^ key[$0 & 3] }
        return (length, String(decoding: payload, as: UTF8.self))
    }

    @Test("masks its text after a header of the right length", arguments: [0, 1, 125, 126, 65_535, 65_536])
    func lengths(count: Int) {
        let text = String(repeating: "a", count: count)
        let (length, decoded) = Self.decode(FrameTemplate(text).bytes)
        #expect(length == count)
        #expect(decoded == text)
    }

    @Test("fills fields in order, every time")
    func fields() {
        var template = FrameTemplate("{\"r\":##########,\"p\":\"/a/####/####\",\"k\":\"####################\"}")
        template.fill(0, number: 1_000_000_007)
        template.fill(1, number: 42)
        template.fill(2, number: 123_456)
        template.fill(3, characters: "-Oabcdefghijklmnopqr".utf8)
        #expect(
            Self.decode(template.bytes).text == #"{"r":1000000007,"p":"/a/0042/3456","k":"-Oabcdefghijklmnopqr"}"#)
        template.fill(1, number: 1000)
        #expect(
            Self.decode(template.bytes).text == #"{"r":1000000007,"p":"/a/1000/3456","k":"-Oabcdefghijklmnopqr"}"#)
    }

    @Test("a small object has 60 bytes")
    func smallObject() {
        #expect(SmallObject.text(number: "\(RequestNumber.base)").utf8.count == 60)
    }

    @Test("pushed keys are different and grow")
    func pushedKeys() {
        var source = ObjectPushes(isFloor: false)
        var keys: [String] = []
        for index in 0..<1_000 {
            var frame: [UInt8] = []
            source.append(index, connection: index % 3, to: &frame)
            let text = Self.decode(frame).text
            let key = text.components(after: "/bench/list/").prefix(20)
            keys.append(String(key))
        }
        // In the alphabet of push IDs, ASCII order is the order of keys.
        #expect(zip(keys, keys.dropFirst()).allSatisfy { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
    }

    @Test("an answer matches its own number and success only")
    func replies() {
        let shape = ReplyShape(data: #""""#, hasContent: true)
        func matches(_ text: String, _ shape: ReplyShape) -> Bool {
            Array(text.utf8).withUnsafeBytes { shape.matches($0, number: 1_000_000_012) }
        }
        let good = #"{"t":"d","d":{"r":1000000012,"b":{"s":"ok","d":""}}}"#
        #expect(matches(good, shape))
        #expect(good.utf8.count == shape.size)
        #expect(!matches(#"{"t":"d","d":{"r":1000000013,"b":{"s":"ok","d":""}}}"#, shape))
        #expect(!matches(#"{"t":"d","d":{"r":1000000012,"b":{"s":"no","d":""}}}"#, shape))
        #expect(!matches(good + " ", shape))
        let blind = ReplyShape(data: #""""#, hasContent: false)
        #expect(matches(String(repeating: "r", count: blind.size), blind))
        #expect(!matches("r", blind))
    }
}

extension String {
    fileprivate func components(after words: String) -> Substring {
        ranges(of: words).first.map { self[$0.upperBound...] } ?? ""
    }
}
