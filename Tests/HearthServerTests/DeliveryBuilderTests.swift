import HearthEventLoop
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol

@testable import HearthDelivery
@testable import HearthRealtimeSessions
@testable import HearthServer
@testable import HearthRealtimeDatabase

@Suite("What a loop is handed")
struct DeliveryBuilderTests {
    private let a = ConnectionID(loop: 0, kind: .realtime, serial: 1)
    private let b = ConnectionID(loop: 0, kind: .realtime, serial: 2)
    private let c = ConnectionID(loop: 1, kind: .realtime, serial: 1)

    /// The entries of both loops, in words, with their bytes.
    private func entries(_ outputs: [Output]) -> [[String]] {
        var words: [[String]] = [[], []]
        var builder = DeliveryBuilder(loops: 2, outbound: OutboundMemory()) { _ in
            preconditionFailure("nothing is large")
        }
        for output in outputs { builder.add(output) }
        builder.finish { loop, delivery in
            words[loop] = delivery.entries.map { entry in
                switch entry {
                case .messages(let connection, let range, let answers):
                    let bytes = range.flatMap { delivery.messages.bytes(of: $0) }
                    let text = String(decoding: bytes, as: UTF8.self)
                    let numbers = text.split(separator: #""r":"#).dropFirst().map { $0.prefix { $0.isNumber } }
                    return "\(connection.raw & 0xFF): \(numbers.joined(separator: " ")) (\(answers))"
                case .join: return "join"
                default: return "\(entry)"
                }
            }
        }
        return words
    }

    @Test("answers to one connection that lie after one another are one piece, in order")
    func answers() {
        func reply(_ connection: ConnectionID, _ number: Int64) -> Output { .reply(connection, number: number, .done) }
        let outputs = [
            reply(a, 1), reply(a, 2), reply(b, 1), reply(a, 3), reply(c, 7), reply(c, 8), reply(a, 4),
            .join(GroupID(raw: 5), a), reply(a, 5), reply(a, 6),
        ]
        #expect(
            entries(outputs) == [
                ["1: 1 2 (2)", "2: 1 (1)", "1: 3 4 (2)", "join", "1: 5 6 (2)"], ["1: 7 8 (2)"],
            ])
    }

    /// What each connection and group gets: the messages in its frames, joined.
    private func messages(_ outputs: [Output]) -> (texts: [String], byteCount: Int) {
        var texts: [String] = []
        var byteCount = 0
        var builder = DeliveryBuilder(loops: 2, outbound: OutboundMemory()) { _ in preconditionFailure("not large") }
        for output in outputs { builder.add(output) }
        builder.finish { _, delivery in
            let outbound = OutboundMemory()
            let messages = FramedMessages(delivery.messages, in: outbound)
            let pushes = FramedMessages(delivery.pushes, in: outbound)
            byteCount = messages.frames.count + pushes.frames.count + delivery.pushedEvents.count
            var joiner = FrameJoiner()
            for entry in delivery.entries {
                let run: FramedRun
                switch entry {
                case .messages(_, let range, _): run = messages[range]
                case .push(_, let number): run = pushes[delivery.runs[number]]
                case .pushEvents(_, let run):
                    texts.append(String(decoding: delivery.pushedEvents.bytes[delivery.runs[run]], as: UTF8.self))
                    continue
                default: preconditionFailure("\(entry)")
                }
                var frames: [UInt8] = []
                run.forEachRange { frames += run.source.frames.bytes[$0] }
                #expect(frames.count == run.byteCount)
                frames.withUnsafeBytes { bytes in
                    var rest = bytes
                    while let frame = ServerFrame(rest) {
                        switch joiner.add(frame.payload) {
                        case .message: texts.append(String(decoding: frame.payload, as: UTF8.self))
                        case .joined: texts.append(String(decoding: joiner.takeMessage(), as: UTF8.self))
                        case .more, .tooLarge: break
                        }
                        #expect(frame.payload.count <= 3 * MessageChunks.unitsMax)
                        rest = UnsafeRawBufferPointer(rebasing: rest[frame.whole.count...])
                    }
                }
            }
        }
        return (texts, byteCount)
    }

    // A text of one, two and three bytes for a code unit, so that frames end inside of none of them.
    private let large = CanonicalJSON(string: Array(String(repeating: "aäß漢", count: 20_000).utf8))

    @Test("a large value is encoded once for all answers to reads and first values of listeners")
    func sharedAnswers() {
        let text = String(decoding: large.bytes, as: UTF8.self)
        var outputs: [Output] = []
        var expected: [String] = []
        for number in 1...100 as ClosedRange<Int64> {
            outputs.append(.reply(a, number: number, .value(large)))
            expected.append(#"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":\#(text)}}}"#)
            outputs.append(.reply(a, number: number, .done))
            expected.append(#"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":""}}}"#)
        }
        outputs.append(.initial(a, "x/y", large, at: Position(epoch: 1, sequence: 1, time: 3)))
        expected.append(#"{"t":"d","d":{"a":"d","b":{"p":"x/y","d":\#(text)}}}"#)
        let (texts, byteCount) = messages(outputs)
        #expect(texts == expected)
        #expect(byteCount < 2 * large.bytes.count)
    }

    @Test("a large value is encoded once for all groups that it is pushed to, whatever their tags")
    func sharedPushes() {
        let text = String(decoding: large.bytes, as: UTF8.self)
        func address(_ group: UInt64) -> GroupAddress { GroupAddress(group: GroupID(raw: group), loops: 1) }
        let change = Change.set(Assignment(target: WriteTarget(path: "x"), value: large))
        var outputs: [Output] = [.push(change, at: nil, to: [address(0)])]
        var expected = [#"{"t":"d","d":{"a":"d","b":{"p":"x","d":\#(text)}}}"#]
        for tag in 1...100 as ClosedRange<Int64> {
            let push = QueryPush(form: .tagged(tag), path: "x", content: .change(change))
            outputs.append(.pushQuery(push, to: address(UInt64(tag))))
            expected.append(#"{"t":"d","d":{"a":"d","b":{"p":"x","d":\#(text),"t":\#(tag)}}}"#)
        }
        let (texts, byteCount) = messages(outputs)
        #expect(texts == expected)
        #expect(byteCount < 2 * large.bytes.count)

        let push = QueryPush(form: .eventStream, path: "x", content: .change(change))
        let events = messages((101...200).map { .pushQuery(push, to: address($0)) })
        let event = "event: put\ndata: {\"path\":\"/\",\"data\":\(text)}\n\n"
        #expect(events.texts.joined() == String(repeating: event, count: 100))
        #expect(events.byteCount < 2 * large.bytes.count)
    }

    @Test("pushes are put into frames once for all loops")
    func sharedFrames() {
        var builder = DeliveryBuilder(loops: 2, outbound: OutboundMemory()) { _ in preconditionFailure("not large") }
        let change = Change.set(Assignment(target: WriteTarget(path: "x"), value: .null))
        builder.add(.push(change, at: nil, to: [GroupAddress(group: GroupID(raw: 1), loops: 0b11)]))
        var frames: [SharedBytes] = []
        builder.finish { _, delivery in
            frames.append(FramedMessages(delivery.pushes, in: OutboundMemory()).frames)
        }
        #expect(frames.count == 2)
        #expect(frames.first === frames.last)
        #expect(frames.first?.count ?? 0 > 0)
    }

    @Test("frames take little more memory than their bytes", arguments: [1, 100])
    func frameMemory(count: Int64) throws {
        var builder = DeliveryBuilder(loops: 1, outbound: OutboundMemory()) { _ in preconditionFailure("not large") }
        for number in 1...count { builder.add(.reply(a, number: number, .value(large))) }
        builder.finish { _, delivery in
            let frames = FramedMessages(delivery.messages, in: OutboundMemory()).frames
            #expect(frames.count > large.bytes.count)
            #expect(frames.bytes.capacity < frames.count + frames.count / 8)
        }
    }
}
