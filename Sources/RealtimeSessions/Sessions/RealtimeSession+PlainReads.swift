import HearthAccess
import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthJSONTree
import HearthRealtimeDatabase

/// Gets that the loop may answer itself, at the end of its turn.
extension RealtimeSession {
    /// The gets that were left to the loop since requests were last handed over.
    struct PlainReads {
        var handOvers: UInt64 = 0
        var count = 0
    }

    /// Asks for everything at a place. Answers come in order, so the loop may answer only if the session waits for
    /// nothing else.
    func read(_ number: Int64, _ path: consuming Path) {
        if plainReads.handOvers != context.handOvers { plainReads = PlainReads(handOvers: context.handOvers) }
        guard order.requests.count == plainReads.count, context.mayRead(from: database.index),
            smallRequests.add(0, context.services.requestMemory, for: origin.client)
        else {
            return submit(number, .get(path), reads: true)
        }
        plainReads.count += 1
        if timed == nil { beginTiming(.get, path) }
        stopReading(order.add(bytes: 0, reads: true))
        context.read(
            PlainRead(
                connection: id, number: number, principal: authentication.principal, path: path,
                client: origin.client.number),
            from: database.index)
    }

    /// Takes the time of the next request that is made.
    func beginTiming(_ kind: RequestKind, _ place: @autoclosure () -> Path?) {
        timed = TimedRequest(number: order.requests.made, kind: kind, since: context.loop.now)
        if context.services.configuration.slowRequest != nil { timed?.place = place() }
    }
}
