import Testing

@testable import HearthDatabaseScheduler

@Suite("The size of a turn")
struct TurnSizeTests {
    @Test("becomes what turns do in their time, and grows again when they do all they take")
    func following() {
        var size = TurnSize()
        #expect(size.countMax == 1000)
        size.note(done: 40, of: 1000)
        #expect(size.countMax == 50)
        size.note(done: 50, of: 50)
        #expect(size.countMax == 100)
        // A small turn says nothing of large ones.
        size.note(done: 3, of: 3)
        #expect(size.countMax == 100)
        for _ in 0..<9 { size.note(done: size.countMax, of: size.countMax) }
        #expect(size.countMax == 1000)
    }

    @Test("is never so small that turns cost more than requests")
    func least() {
        var size = TurnSize()
        size.note(done: 1, of: 1000)
        #expect(size.countMax == 16)
        size.note(done: 0, of: 16)
        #expect(size.countMax == 16)
    }
}
