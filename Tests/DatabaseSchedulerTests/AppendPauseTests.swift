import Testing

@testable import HearthDatabaseScheduler

@Suite("The pause after an append") struct AppendPauseTests {
    @Test("is a quarter of the time of a large one, with a limit") func large() {
        #expect(AppendPause.after(128, took: .milliseconds(4)) == .milliseconds(1))
        #expect(AppendPause.after(5000, took: .seconds(2)) == .milliseconds(5))
    }

    @Test("is zero after a small one, where a client may wait for each write") func small() {
        #expect(AppendPause.after(127, took: .milliseconds(4)) == .zero)
        #expect(AppendPause.after(0, took: .zero) == .zero)
    }
}
