import HearthDelivery
import HearthRealtimeDatabase
import Testing

@Suite("Answers to other nodes")
struct AnswerBacklogTests {
    @Test("have a limit for each link, which has room again once half of them have arrived")
    func limit() {
        let backlog = AnswerBacklog(bytesMax: 100)
        var second = LinkSet()
        second.insert(2)
        backlog.add(99, to: 1)
        #expect(backlog.fullLinks.isEmpty)
        backlog.add(60, to: 2)
        backlog.add(60, to: 2)
        #expect(backlog.fullLinks == second)
        #expect(!backlog.remove(69, from: 2))
        #expect(!backlog.remove(99, from: 1))
        #expect(backlog.fullLinks == second)
        #expect(backlog.remove(1, from: 2))
        #expect(backlog.fullLinks.isEmpty)
        #expect(!backlog.remove(50, from: 2))
    }
}
