import HearthEventLoop
import HearthSystem
import HearthTestSupport
import Testing

@Suite("Timers")
struct TimerTests {
    @Test("fire in the order of their deadlines, and of arming where these are equal")
    func order() throws {
        let fired = Channel<Int>()
        let loop = try TestLoop()
        try loop.run { loop in
            for (delay, name) in [(30, 4), (10, 1), (20, 2), (20, 3), (0, 0)] {
                loop.schedule(after: .milliseconds(delay)) { fired.put(name) }
            }
        }
        #expect(try fired.next(5) == [0, 1, 2, 3, 4])
    }

    @Test("do not fire when cancelled or disarmed, also by a timer of the same turn")
    func cancel() throws {
        let fired = Channel<String>()
        let loop = try TestLoop()
        try loop.run { loop in
            let cancelled = loop.schedule(after: .milliseconds(1)) { fired.put("cancelled") }
            cancelled.cancel()
            cancelled.arm(after: .milliseconds(1))
            loop.schedule(after: .milliseconds(1)) { fired.put("disarmed") }.disarm()
            var second: Timer?
            loop.schedule(after: .milliseconds(2)) {
                fired.put("first")
                second?.cancel()
            }
            second = loop.schedule(after: .milliseconds(2)) { fired.put("second") }
            loop.schedule(after: .milliseconds(3)) { fired.put("last") }
        }
        #expect(try fired.next(2) == ["first", "last"])
        #expect(fired.waiting.isEmpty)
    }

    @Test("can be moved away and nearer")
    func rearm() throws {
        let fired = Channel<String>()
        let loop = try TestLoop()
        try loop.run { loop in
            let away = loop.schedule(after: .milliseconds(10)) { fired.put("away") }
            away.arm(after: .milliseconds(60))
            let nearer = loop.schedule(after: .seconds(60)) { fired.put("nearer") }
            nearer.arm(after: .milliseconds(20))
            loop.schedule(after: .milliseconds(40)) { fired.put("between") }
        }
        #expect(try fired.next(3) == ["nearer", "between", "away"])
    }

    @Test("armed by their own action wait for another turn")
    func rearmInAction() throws {
        let fired = Channel<MonotonicTime>()
        let loop = try TestLoop()
        try loop.run { loop in
            var left = 3
            var again: Timer?
            again = loop.makeTimer {
                fired.put(loop.now)
                left -= 1
                if left > 0 { again?.arm(after: .zero) } else { again = nil }
            }
            again?.arm(after: .zero)
        }
        let turns = try fired.next(3)
        #expect(turns[0] < turns[1])
        #expect(turns[1] < turns[2])
    }

    @Test("of any number and history fire once each, in order, not early", arguments: [1, 2, 3] as [UInt64])
    func randomHistories(seed: UInt64) throws {
        struct Fired: Sendable {
            let name: Int
            let deadline: MonotonicTime
            let now: MonotonicTime
        }
        let fired = Channel<Fired>()
        let loop = try TestLoop()
        let expected = try loop.run { loop in
            var random = SeededRandom(seed: seed)
            var deadlines: [Int: MonotonicTime] = [:]
            var timers: [Timer] = []
            for name in 0..<300 {
                timers.append(
                    loop.makeTimer {
                        fired.put(Fired(name: name, deadline: deadlines[name]!, now: loop.now))
                        deadlines[name] = nil
                    })
            }
            for _ in 0..<3000 {
                let name = Int.random(in: 0..<timers.count, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    timers[name].disarm()
                    deadlines[name] = nil
                } else {
                    let delay = Duration.microseconds(Int.random(in: 1...80_000, using: &random))
                    timers[name].arm(after: delay)
                    deadlines[name] = loop.now + delay
                }
            }
            return Set(deadlines.keys)
        }
        let all = try fired.next(expected.count)
        #expect(Set(all.map(\.name)) == expected, "seed \(seed)")
        for (previous, next) in zip(all, all.dropFirst()) {
            #expect(previous.deadline <= next.deadline, "seed \(seed)")
        }
        for one in all { #expect(one.deadline <= one.now, "seed \(seed)") }
    }

    @Test("of a stream can be moved either way and end it")
    func streamTimeout() throws {
        let closed = Channel<CloseReason>()
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onOpened = { stream in
                    stream.setTimeout(after: .milliseconds(1))
                    stream.setTimeout(after: .seconds(60))
                    stream.loop.schedule(after: .milliseconds(30)) { stream.send(shared: [1]) }
                }
                $0.onReceived = { _, stream in stream.setTimeout(after: .milliseconds(1)) }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        let client = try server.connect()
        #expect(try client.receive(exactly: 1) == [1])
        try client.send([2])
        #expect(try client.receiveToEnd() == [])
        client.endOutput()
        #expect(try closed.next() == .timedOut)
    }
}
