import Testing

@testable import HearthClient

@Suite("A broadcast")
struct BroadcastTests {
    private func all<Value>(_ stream: AsyncStream<Value>) async -> [Value] {
        var values: [Value] = []
        for await value in stream { values.append(value) }
        return values
    }

    @Test("of a state begins with its value, and a slow reader gets the last one")
    func state() async {
        let state = Broadcast(state: 1)
        let slow = state.values()
        for value in 2...5 { state.set(value) }
        #expect(state.value == 5)
        let late = state.values()
        state.end()
        state.set(6)
        #expect(await all(slow) == [5])
        #expect(await all(late) == [5])
        #expect(await all(state.values()) == [5])
        #expect(state.value == 5)
    }

    @Test("of a state does not repeat an equal value")
    func equal() async {
        let state = Broadcast(state: 1)
        var reader = state.values().makeAsyncIterator()
        #expect(await reader.next() == 1)
        state.set(1)
        state.set(2)
        #expect(await reader.next() == 2)
        // The buffer of a state holds one value: an equal one would be in it.
        state.set(2)
        state.end()
        #expect(await reader.next() == nil)
    }

    @Test("of events keeps the last ones for its first reader, and tells every reader of the later ones")
    func events() async {
        let events = Broadcast<Int>(keptMax: 3)
        for value in 1...5 { events.send(value) }
        let (first, second) = (events.values(), events.values())
        events.send(6)
        let third = events.values()
        events.end()
        events.send(7)
        #expect(await all(first) == [4, 5, 6])
        #expect(await all(second) == [6])
        #expect(await all(third) == [])
    }

    @Test("of events gives what was kept after its end as well, once")
    func ended() async {
        let events = Broadcast<Int>(keptMax: 3)
        events.send(1)
        events.end()
        #expect(await all(events.values()) == [1])
        #expect(await all(events.values()) == [])
    }
}
