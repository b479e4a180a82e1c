import Testing

@testable import HearthTriggers

@Suite("the turns of triggers")
struct TriggerTurnsTests {
    private typealias Place = TriggerTurns.Place

    private static let places =
        [Place(database: 1, trigger: "a"), Place(database: 0, trigger: "b")] + [
            Place(database: 0, trigger: "a")
        ]

    /// Who begins attempts while there is room for so many, of triggers with so many events.
    private static func dealt(_ turns: inout TriggerTurns, room: Int, events: Int = .max) -> [String] {
        var dealt: [String] = []
        var left = Dictionary(uniqueKeysWithValues: places.map { ($0, events) })
        turns.deal(places) {
            dealt.count < room
        } to: { place in
            guard left[place, default: 0] > 0 else { return false }
            left[place, default: 0] -= 1
            dealt.append("\(place.database)\(place.trigger)")
            return true
        }
        return dealt
    }

    @Test("give room that becomes free to each of them in its turn")
    func fairness() {
        var turns = TriggerTurns()
        #expect((0..<5).flatMap { _ in Self.dealt(&turns, room: 1) } == ["0a", "0b", "1a", "0a", "0b"])
        #expect(Self.dealt(&turns, room: 4) == ["1a", "0a", "0b", "1a"])
        #expect(Self.dealt(&turns, room: 0).isEmpty)
        #expect(Self.dealt(&turns, room: 2) == ["0a", "0b"])
    }

    @Test("pass over those that have nothing to send")
    func ends() {
        var turns = TriggerTurns()
        #expect(Self.dealt(&turns, room: 9, events: 2) == ["0a", "0b", "1a", "0a", "0b", "1a"])
        #expect(Self.dealt(&turns, room: 9, events: 0).isEmpty)
    }
}
