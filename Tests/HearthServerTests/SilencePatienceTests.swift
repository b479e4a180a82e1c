import HearthEventLoop
import Testing

@testable import HearthRealtimeSessions

@Suite("A client that says nothing")
struct SilencePatienceTests {
    private static let timeout = Duration.seconds(90)

    private static func taken(_ mark: UInt64, _ seconds: Int) -> Stream.Taken {
        Stream.Taken(mark: mark, age: .seconds(seconds))
    }

    @Test("has its time from when it last took something")
    func taking() {
        var patience = SilencePatience(timeout: Self.timeout)
        #expect(patience.more(after: Self.taken(5, 30), isUnheard: false) == .seconds(60))
        #expect(patience.more(after: Self.taken(6, 0), isUnheard: false) == Self.timeout)
        #expect(patience.more(after: Self.taken(7, 90), isUnheard: false) == nil)
    }

    @Test("is gone if it takes nothing more, although its system answers")
    func gone() {
        var patience = SilencePatience(timeout: Self.timeout)
        #expect(patience.more(after: Self.taken(5, 30), isUnheard: false) != nil)
        #expect(patience.more(after: Self.taken(5, 1), isUnheard: false) == nil)
    }

    @Test("may be one that is not read")
    func unheard() {
        var patience = SilencePatience(timeout: Self.timeout)
        for _ in 0..<3 { #expect(patience.more(after: Self.taken(5, 100), isUnheard: true) == Self.timeout) }
        #expect(patience.more(after: Self.taken(5, 100), isUnheard: false) == nil)
    }
}
