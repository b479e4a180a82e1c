import Testing
@testable import HearthClientSession

@Suite("Signs of life")
struct KeepAliveTests {
    private let start = Duration.seconds(5)

    private func at(_ seconds: Double) -> Duration { start + .seconds(seconds) }

    @Test("a connection that is silent both ways is pinged, and given up without an answer")
    func silence() {
        var keepAlive = KeepAlive(KeepAliveTimes(), now: start)
        #expect(keepAlive.deadline == at(45))
        #expect(keepAlive.tick(now: at(44.9)) == .none)
        #expect(keepAlive.tick(now: at(45)) == .sendPing)
        #expect(keepAlive.deadline == at(60))
        #expect(keepAlive.tick(now: at(59.9)) == .none)
        #expect(keepAlive.tick(now: at(60)) == .giveUp)
    }

    @Test("anything received is an answer")
    func answers() {
        var keepAlive = KeepAlive(KeepAliveTimes(), now: start)
        #expect(keepAlive.tick(now: at(45)) == .sendPing)
        keepAlive.received(now: at(46))
        #expect(keepAlive.tick(now: at(60)) == .none)
        #expect(keepAlive.deadline == at(90))
        // The ping counted as sent.
        #expect(keepAlive.tick(now: at(90)) == .sendKeepAlive)
        #expect(keepAlive.deadline == at(91))
        #expect(keepAlive.tick(now: at(91)) == .sendPing)
    }

    @Test("a connection that only receives sends keep-alives")
    func receivingOnly() {
        var keepAlive = KeepAlive(KeepAliveTimes(), now: start)
        for second in 1...100 {
            keepAlive.received(now: at(Double(second)))
            let expected: KeepAlive.Action = second == 45 || second == 90 ? .sendKeepAlive : .none
            #expect(keepAlive.tick(now: at(Double(second))) == expected, "second \(second)")
        }
    }

    @Test("a connection that only sends is pinged all the same")
    func sendingOnly() {
        var keepAlive = KeepAlive(KeepAliveTimes(), now: start)
        for second in 1..<45 {
            keepAlive.sent(now: at(Double(second)))
            #expect(keepAlive.tick(now: at(Double(second))) == .none)
        }
        #expect(keepAlive.tick(now: at(45)) == .sendPing)
    }

    @Test("a late tick does what is due, once")
    func late() {
        var keepAlive = KeepAlive(KeepAliveTimes(), now: start)
        #expect(keepAlive.tick(now: at(500)) == .sendPing)
        #expect(keepAlive.tick(now: at(501)) == .none)
        #expect(keepAlive.tick(now: at(515)) == .giveUp)
    }
}
