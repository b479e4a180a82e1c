import HearthDelivery
import Testing

@Suite("a session reads its client's requests")
struct SessionOrderTests {
    private static func order() -> SessionOrder {
        SessionOrder(RequestsInFlight(countMax: 4, bytesMax: 1000, anonymousBytesMax: 1 << 30))
    }

    @Test("until too many are in flight, and continues when half of them are answered")
    func count() {
        var order = Self.order()
        let stops = (0..<4).map { _ in order.add(bytes: 1, reads: false) }
        #expect(stops == [false, false, false, true])
        // Requests that were read already are processed, without new outputs.
        let stopsAgain = order.add(bytes: 1, reads: false)
        #expect(!stopsAgain)
        #expect(order.isPaused)
        order.answered(2, bytes: 0)
        let tooEarly = order.goOn(isWritable: true)
        order.answered(1, bytes: 0)
        let unsent = order.goOn(isWritable: false)
        let goesOn = order.goOn(isWritable: true)
        let goesOnTwice = order.goOn(isWritable: true)
        #expect([tooEarly, unsent, goesOn, goesOnTwice] == [false, false, true, false])
        #expect(!order.isPaused)
    }

    @Test("not before it is known who the client is, whatever is answered meanwhile")
    func caller() {
        var order = Self.order()
        _ = order.add(bytes: 1, reads: false)
        let stops = order.wait(for: .caller)
        order.answered(1, bytes: 0)
        let goesOnBefore = order.goOn(isWritable: true)
        order.finishWaiting()
        let goesOnAfter = order.goOn(isWritable: true)
        #expect(stops)
        #expect(!goesOnBefore)
        #expect(goesOnAfter)
    }

    @Test("to the end of the message that is being parsed when the client goes, and then leaves the database")
    func end() {
        var parsing = Self.order()
        _ = parsing.wait(for: .message)
        let leavesWhileParsing = parsing.end()
        #expect(!leavesWhileParsing)
        #expect(parsing.hasEnded)
        var identifying = Self.order()
        _ = identifying.wait(for: .caller)
        let leavesWhileIdentifying = identifying.end()
        #expect(leavesWhileIdentifying)
    }
}
