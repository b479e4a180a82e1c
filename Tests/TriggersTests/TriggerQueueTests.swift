import HearthJSONTree
@testable import HearthRealtimeDatabase
import HearthTestSupport
import HearthTriggers
import Testing

@Suite("the queue of a trigger")
struct TriggerQueueTests {
    private static let day: Int64 = 86_400_000

    private static func entry(_ place: Path, _ number: Int, since: Int64 = 0, bytes: Int = 2) -> TriggerQueue.Entry {
        TriggerQueue.Entry(
            key: key(number), place: place, event: Array(repeating: 1, count: bytes), since: since)
    }

    private static func key(_ number: Int) -> OutboxKey {
        OutboxKey(trigger: "t", isAside: false, sequence: UInt64(number), index: 0)
    }

    @Test("sends the events of a place one after the other, those of several places side by side")
    func lanes() {
        var queue = TriggerQueue(concurrency: 2, retryTime: Self.day)
        for number in 0..<2 { for place in ["a", "b", "c"] as [Path] { queue.add(Self.entry(place, number)) } }
        let (first, second) = (queue.next(now: 0), queue.next(now: 0))
        #expect(first?.place == "a")
        #expect(second?.place == "b")
        #expect(queue.next(now: 0) == nil)
        #expect(queue.underWay == 2)
        #expect(queue.finished(Self.key(0), at: "a", .delivered, now: 1, jitter: 0) == .done)
        #expect(queue.next(now: 1)?.place == "c")
        #expect(queue.next(now: 1) == nil)
        #expect(queue.finished(Self.key(0), at: "b", .delivered, now: 1, jitter: 0) == .done)
        #expect(queue.next(now: 1)?.key == Self.entry("a", 1).key)
        #expect(queue.count == 4)
        #expect(queue.byteCount == 8)
    }

    @Test("tries an event again after growing pauses, while other places go on, and sets it aside in the end")
    func retries() {
        var queue = TriggerQueue(concurrency: 8, retryTime: Self.day)
        queue.add(Self.entry("bad", 1))
        queue.add(Self.entry("bad", 2))
        var (now, attempts): (Int64, Int) = (0, 0)
        var last = Int64.min
        while attempts < 1000 {
            queue.add(Self.entry("good", 1, since: now))
            while let entry = queue.next(now: now) {
                if entry.place == "good" {
                    #expect(queue.finished(entry.key, at: "good", .delivered, now: now, jitter: 0) == .done)
                } else if entry.key == Self.entry("bad", 2).key {
                    // The first was set aside.
                    #expect(now >= Self.day)
                    #expect(attempts > 24)
                    return
                } else {
                    attempts += 1
                    #expect(now > last)
                    last = now
                    _ = queue.finished(entry.key, at: "bad", .failed("no"), now: now, jitter: 0)
                }
            }
            now = queue.nextTime ?? now
        }
        Issue.record("it was never set aside")
    }

    @Test("sets an event aside at once that is refused, and after the first failure if it is to be tried once")
    func refusal() {
        var queue = TriggerQueue(concurrency: 1, retryTime: 0)
        queue.add(Self.entry("a", 1))
        queue.add(Self.entry("a", 2))
        _ = queue.next(now: 0)
        #expect(queue.finished(Self.key(1), at: "a", .refused("gone"), now: 0, jitter: 0) == .setAside("gone"))
        _ = queue.next(now: 0)
        #expect(queue.finished(Self.key(2), at: "a", .failed("no"), now: 0, jitter: 0) == .setAside("no"))
        #expect(queue.count == 0)
        #expect(queue.next(now: .max) == nil)
        #expect(queue.nextTime == nil)
    }

    @Test("waits for as long as a receiver asks for, up to an hour")
    func retryAfter() {
        for (asked, wait) in [(100_000, 100_000), (1, 5000), (Self.day, 3_600_000)] as [(Int64, Int64)] {
            var queue = TriggerQueue(concurrency: 1, retryTime: Self.day)
            queue.add(Self.entry("a", 1))
            _ = queue.next(now: 0)
            _ = queue.finished(Self.key(1), at: "a", .failed("busy", retryAfter: asked), now: 0, jitter: 0)
            #expect(queue.nextTime == wait)
            #expect(queue.next(now: wait - 1) == nil)
            #expect(queue.next(now: wait) != nil)
        }
    }

    @Test("waits 5 s, 30 s, 2, 10 and 30 minutes, and then an hour each time, a fifth more or less")
    func pauses() {
        for jitter in [-1, 0, 1] as [Double] {
            var queue = TriggerQueue(concurrency: 1, retryTime: 30 * Self.day)
            queue.add(Self.entry("a", 1))
            var now: Int64 = 0
            for seconds in [5, 30, 120, 600, 1800, 3600, 3600] as [Double] {
                #expect(queue.next(now: now) != nil)
                _ = queue.finished(Self.key(1), at: "a", .failed("no"), now: now, jitter: jitter)
                #expect(queue.nextTime == now + Int64(seconds * 1000 * (1 + jitter / 5)))
                now = queue.nextTime ?? .max
            }
        }
    }

    @Test("tries an event that was due long ago for an hour before it sets it aside")
    func trial() {
        var queue = TriggerQueue(concurrency: 1, retryTime: Self.day)
        queue.add(Self.entry("a", 1, since: -4 * Self.day))
        var now: Int64 = 1000
        while queue.next(now: now) != nil {
            let decision = queue.finished(Self.key(1), at: "a", .failed("no"), now: now, jitter: 0)
            #expect(decision == (now - 1000 < 3_600_000 ? .retry : .setAside("no")))
            now = queue.nextTime ?? .max
        }
        #expect(queue.count == 0)
    }

    @Test("sets those that are as old aside after one attempt each, once a place was tried for an hour in vain")
    func trialOfPlace() {
        var queue = TriggerQueue(concurrency: 1, retryTime: Self.day)
        for number in 1...3 { queue.add(Self.entry("a", number, since: -4 * Self.day)) }
        queue.add(Self.entry("a", 4, since: 0))
        var (now, attempts): (Int64, [Int: Int]) = (1000, [:])
        for number in 1...3 {
            while queue.next(now: now) != nil {
                attempts[number, default: 0] += 1
                let decision = queue.finished(Self.key(number), at: "a", .failed("no"), now: now, jitter: 0)
                if decision != .retry { break }
                now = queue.nextTime ?? .max
            }
        }
        #expect(attempts[1] ?? 0 > 5)
        #expect([attempts[2], attempts[3]] == [1, 1])
        // The last one has its day.
        #expect(queue.next(now: now)?.key == Self.key(4))
        #expect(queue.finished(Self.key(4), at: "a", .failed("no"), now: now, jitter: 0) == .retry)
        // Once one was taken, the next ones are tried for an hour again.
        now = queue.nextTime ?? .max
        #expect(queue.next(now: now)?.key == Self.key(4))
        #expect(queue.finished(Self.key(4), at: "a", .delivered, now: now, jitter: 0) == .done)
        queue.add(Self.entry("a", 5, since: -4 * Self.day))
        #expect(queue.next(now: now)?.key == Self.key(5))
        #expect(queue.finished(Self.key(5), at: "a", .failed("no"), now: now, jitter: 0) == .retry)
    }

    @Test("tries one event at a time while the receiver is down, and all of them once it is back")
    func outage() {
        var queue = TriggerQueue(concurrency: 8, retryTime: 3 * Self.day)
        let places = (0..<20).map { Path(stringLiteral: "p\($0)") }
        for place in places { queue.add(Self.entry(place, 1)) }
        var (now, attempts): (Int64, Int) = (0, 0)
        while now < Self.day {
            var sent: [Path] = []
            while let entry = queue.next(now: now) { sent.append(entry.place) }
            #expect(sent.count <= (queue.isOut ? 1 : 8) || attempts == 0)
            attempts += sent.count
            for place in sent { _ = queue.finished(Self.key(1), at: place, .failed("down"), now: now, jitter: 0) }
            now = max(now + 1, queue.nextTime ?? .max)
        }
        #expect(queue.isOut)
        #expect(attempts < 1600)
        #expect(queue.count == 20)
        // It is back.
        var delivered: Set<Path> = []
        while delivered.count < 20 {
            var sent: [Path] = []
            while let entry = queue.next(now: now) { sent.append(entry.place) }
            if sent.isEmpty { now = queue.nextTime ?? .max }
            for place in sent {
                _ = queue.finished(Self.key(1), at: place, .delivered, now: now, jitter: 0)
                delivered.insert(place)
            }
        }
        #expect(now <= Self.day + 61_000)
        #expect(!queue.isOut)
        #expect(queue.nextTime == nil)
    }

    @Test("drops an event that is not under way")
    func removal() {
        var queue = TriggerQueue(concurrency: 1, retryTime: Self.day)
        for number in 1...3 { queue.add(Self.entry("a", number)) }
        _ = queue.next(now: 0)
        #expect(queue.remove(Self.entry("a", 1).key, at: "a") == false)
        #expect(queue.remove(Self.entry("a", 2).key, at: "a") == true)
        #expect(queue.remove(Self.entry("a", 2).key, at: "a") == false)
        _ = queue.finished(Self.key(1), at: "a", .failed("no"), now: 0, jitter: 0)
        #expect(queue.remove(Self.entry("a", 1).key, at: "a") == true)
        #expect(queue.next(now: 0)?.key == Self.entry("a", 3).key)
        #expect(queue.count == 1)
    }

    @Test("takes the outcome of an attempt for that of its own event only")
    func otherAttempts() {
        var queue = TriggerQueue(concurrency: 1, retryTime: Self.day)
        for number in 1...2 { queue.add(Self.entry("a", number)) }
        #expect(queue.next(now: 0)?.key == Self.key(1))
        // One that an earlier queue has begun, before the trigger went and came back.
        #expect(queue.finished(Self.key(1), at: "a", .delivered, now: 1, jitter: 0) == .done)
        #expect(queue.next(now: 1)?.key == Self.key(2))
        #expect(queue.finished(Self.key(1), at: "a", .delivered, now: 2, jitter: 0) == .retry)
        #expect(queue.count == 1)
        #expect(queue.underWay == 1)
        #expect(queue.finished(Self.key(2), at: "a", .delivered, now: 3, jitter: 0) == .done)
        #expect(queue.count == 0)
        #expect(queue.underWay == 0)
    }

    @Test("has only the keys of events at a place that fails, and the contents of those that follow its success")
    func keys() {
        var queue = TriggerQueue(concurrency: 8, retryTime: Self.day)
        for number in 1...3 { queue.add(Self.entry("bad", number)) }
        #expect(queue.byteCount == 6)
        #expect(queue.next(now: 0)?.event?.count == 2)
        _ = queue.finished(Self.key(1), at: "bad", .failed("no"), now: 0, jitter: 0)
        queue.add(Self.entry("bad", 4))
        #expect(queue.byteCount == 0)
        queue.add(Self.entry("good", 1))
        #expect(queue.byteCount == 2)
        #expect(queue.next(now: 0)?.place == "good")

        // Not to be read yet is no attempt.
        let again = queue.next(now: 5000)
        #expect(again?.key == Self.key(1) && again?.event == nil)
        queue.add(Self.entry("bad", 5))
        #expect(queue.byteCount == 2)
        #expect(queue.finished(Self.key(1), at: "bad", .unread(200), now: 5000, jitter: 0) == .retry)
        #expect(queue.nextTime == 5200)
        #expect(queue.next(now: 5200)?.key == Self.key(1))
        _ = queue.finished(Self.key(1), at: "bad", .failed("no"), now: 5200, jitter: 0)
        #expect(queue.nextTime == 35_200, "the pause after the second attempt")
        #expect(!queue.isOut)

        #expect(queue.next(now: 35_200)?.key == Self.key(1))
        #expect(queue.finished(Self.key(1), at: "bad", .gone, now: 35_200, jitter: 0) == .done)
        #expect(queue.next(now: 35_200)?.key == Self.key(2))
        #expect(queue.finished(Self.key(2), at: "bad", .delivered, now: 35_200, jitter: 0) == .done)
        queue.add(Self.entry("bad", 6))
        #expect(queue.byteCount == 4)
        var events: [Int?] = []
        while let entry = queue.next(now: 35_200) {
            events.append(entry.event?.count)
            _ = queue.finished(entry.key, at: entry.place, .delivered, now: 35_200, jitter: 0)
        }
        #expect(events == [nil, nil, nil, 2])
        #expect(queue.byteCount == 2)
    }

    @Test("has the contents of one event of a place, and of more if they are small")
    func contents() {
        var queue = TriggerQueue(concurrency: 8, retryTime: Self.day)
        for number in 1...100 { queue.add(Self.entry("a", number, bytes: 10_000)) }
        for number in 1...2 { queue.add(Self.entry("b", number, bytes: 1 << 20)) }
        #expect(queue.byteCount == 6 * 10_000 + 1 << 20)
        #expect(queue.next(now: 0)?.event?.count == 10_000)
        #expect(queue.next(now: 0)?.event?.count == 1 << 20)
        #expect(queue.finished(Self.key(1), at: "b", .delivered, now: 0, jitter: 0) == .done)
        #expect(queue.byteCount == 6 * 10_000)
        let second = queue.next(now: 0)
        #expect(second?.key == Self.key(2) && second?.event == nil)
        // The first one is under way.
        let removed = (1...100).map { queue.remove(Self.key($0), at: "a") }
        #expect(removed == [false] + Array(repeating: true, count: 99))
        #expect(queue.byteCount == 10_000)
    }

    @Test("keeps the order of each place and loses nothing, whatever fails", arguments: 0..<200 as Range<UInt64>)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let concurrency = Int.random(in: 1...4, using: &random)
        var queue = TriggerQueue(concurrency: concurrency, retryTime: 30 * Self.day)
        let places: [Path] = ["a", "b", "c", "d", "e"]
        var waiting: [Path: [OutboxKey]] = [:]
        var underWay: [Path] = []
        var now: Int64 = 0
        var isDown = false
        func check(_ holds: Bool) { #expect(holds, "seed \(seed)") }
        for number in 0..<500 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0...2:
                let place = places.randomElement(using: &random)!
                let entry = Self.entry(place, number, since: now)
                queue.add(entry)
                waiting[place, default: []].append(entry.key)
            case 3...4:
                while let entry = queue.next(now: now) {
                    check(waiting[entry.place]?.first == entry.key && !underWay.contains(entry.place))
                    underWay.append(entry.place)
                    check(underWay.count <= concurrency)
                }
            case 5: isDown = Int.random(in: 0..<3, using: &random) == 0
            case 6: now = max(now, queue.nextTime ?? now) + Int64.random(in: 0...3000, using: &random)
            default:
                guard let place = underWay.randomElement(using: &random), let key = waiting[place]?.first else {
                    continue
                }
                underWay.removeAll { $0 == place }
                let fails = isDown || Int.random(in: 0..<4, using: &random) == 0
                let outcome: TriggerQueue.Outcome =
                    if !fails { .delivered } else if Bool.random(using: &random) { .failed("no") } else { .unread(200) }
                let decision = queue.finished(key, at: place, outcome, now: now, jitter: 0.5)
                check(decision == (fails ? .retry : .done))
                if !fails { waiting[place]?.removeFirst() }
            }
            check(queue.count == waiting.values.reduce(0) { $0 + $1.count } && queue.underWay == underWay.count)
        }
        // All that is left is delivered.
        for place in underWay {
            guard let key = waiting[place]?.first else { continue }
            _ = queue.finished(key, at: place, .delivered, now: now, jitter: 0)
            waiting[place]?.removeFirst()
        }
        var steps = 0
        while queue.count > 0, steps < 10_000 {
            steps += 1
            guard let entry = queue.next(now: now) else {
                now = queue.nextTime ?? .max
                continue
            }
            check(waiting[entry.place]?.first == entry.key)
            waiting[entry.place]?.removeFirst()
            _ = queue.finished(entry.key, at: entry.place, .delivered, now: now, jitter: 0)
        }
        check(waiting.values.allSatisfy(\.isEmpty) && queue.byteCount == 0)
    }
}
