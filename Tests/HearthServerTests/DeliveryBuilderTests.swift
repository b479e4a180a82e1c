import Testing

@testable import HearthServer
@testable import RealtimeDatabase

@Suite("What a loop is handed")
struct DeliveryBuilderTests {
    private let a = ConnectionID(loop: 0, kind: .realtime, serial: 1)
    private let b = ConnectionID(loop: 0, kind: .realtime, serial: 2)
    private let c = ConnectionID(loop: 1, kind: .realtime, serial: 1)

    /// The entries of both loops, in words, with the bytes that they stand for.
    private func entries(_ outputs: [Output]) -> [[String]] {
        var words: [[String]] = [[], []]
        var builder = DeliveryBuilder(loops: 2) { _ in preconditionFailure("nothing is large") }
        for output in outputs { builder.add(output) }
        builder.finish { loop, delivery in
            words[loop] = delivery.entries.map { entry in
                switch entry {
                case .frames(let connection, let range, let answers):
                    let text = String(decoding: delivery.bytes[range], as: UTF8.self)
                    let numbers = text.split(separator: #""r":"#).dropFirst().map { $0.prefix { $0.isNumber } }
                    return "\(connection.raw & 0xFF): \(numbers.joined(separator: " ")) (\(answers))"
                case .join: return "join"
                default: return "\(entry)"
                }
            }
        }
        return words
    }

    @Test("answers to one connection that lie behind one another are one piece, in order")
    func answers() {
        func reply(_ connection: ConnectionID, _ number: Int64) -> Output { .reply(connection, number: number, .done) }
        let outputs = [
            reply(a, 1), reply(a, 2), reply(b, 1), reply(a, 3), reply(c, 7), reply(c, 8), reply(a, 4),
            .join(GroupID(raw: 5), a), reply(a, 5), reply(a, 6),
        ]
        #expect(
            entries(outputs) == [
                ["1: 1 2 (2)", "2: 1 (1)", "1: 3 (1)", "1: 4 (1)", "join", "1: 5 6 (2)"], ["1: 7 8 (2)"],
            ])
    }
}
