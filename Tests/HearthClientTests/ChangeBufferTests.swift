import HearthServerSupport
import HearthJSONTree
import Synchronization
import HearthTestSupport
import Testing
@testable import HearthClientSession
@testable import HearthConnection

@Suite("Changes on their way to a reader", .timeLimit(.minutes(15)))
struct ChangeBufferTests {
    private final class News: Sendable {
        private let heard = Mutex<[ChangeBuffer.News]>([])

        func add(_ news: ChangeBuffer.News) { heard.withLock { $0.append(news) } }

        var all: [ChangeBuffer.News] { heard.withLock { $0 } }
    }

    private func change(_ number: Int, bytes: Int = 100) throws -> Change {
        .set(
            .init(target: try place("\(number)"), value: CanonicalJSON(string: [UInt8](repeating: 0x78, count: bytes))))
    }

    @Test("come out in order, before and after the reader waits, up to the end")
    func order() async throws {
        let buffer = ChangeBuffer(high: 1 << 20, max: 1 << 20) { _ in }
        let changes = try (0..<300).map { try change($0) }
        for change in changes[..<100] { #expect(buffer.put(change) == .normal) }
        let reader = Task {
            var read: [Change] = []
            while let change = try await buffer.next() { read.append(change) }
            return read
        }
        for change in changes[100...] {
            #expect(buffer.put(change) == .normal)
            await Task.yield()
        }
        buffer.finish()
        #expect(try await reader.value == changes)
        #expect(try await buffer.next() == nil)
    }

    @Test("an error comes after what was there, once")
    func failure() async throws {
        let buffer = ChangeBuffer(high: 1 << 20, max: 1 << 20) { _ in }
        _ = buffer.put(try change(1))
        buffer.finish(.slowReader)
        buffer.finish(.cancelled)
        _ = buffer.put(try change(2))
        #expect(try await buffer.next() == change(1))
        await #expect(throws: ConnectionError.slowReader) { try await buffer.next() }
        #expect(try await buffer.next() == nil)
    }

    @Test("a reader that waits gets the error")
    func failureWhileWaiting() async throws {
        let buffer = ChangeBuffer(high: 1 << 20, max: 1 << 20) { _ in }
        let reader = Task { try await buffer.next() }
        await Task.yield()
        buffer.finish(.slowReader)
        await #expect(throws: ConnectionError.slowReader) { try await reader.value }
        #expect(try await buffer.next() == nil)
    }

    @Test("the loop hears when much waits and when it no longer does")
    func levels() async throws {
        let news = News()
        // About 230 bytes each.
        let buffer = ChangeBuffer(high: 1000, max: 2000) { news.add($0) }
        var levels: [ChangeBuffer.Level] = []
        for number in 0..<10 { levels.append(buffer.put(try change(number))) }
        #expect(levels.filter { $0 == .high }.count == 1)
        #expect(levels.first == .normal)
        #expect(levels.last == .overflow)
        let taken = levels.filter { $0 != .overflow }.count
        for number in 0..<taken {
            #expect(try await buffer.next() == change(number))
            #expect(news.all.count <= 1)
        }
        #expect(news.all == [.drained])
        #expect(buffer.put(try change(0, bytes: 1500)) == .high)
        _ = try await buffer.next()
        #expect(news.all == [.drained, .drained])
    }

    @Test("one change may be larger than all that may wait, but not a second one")
    func largeChange() async throws {
        let buffer = ChangeBuffer(high: 1000, max: 2000) { _ in }
        #expect(buffer.put(try change(0, bytes: 50_000)) == .high)
        #expect(buffer.put(try change(1)) == .overflow)
        #expect(try await buffer.next() == change(0, bytes: 50_000))
        #expect(buffer.put(try change(2, bytes: 50_000)) == .high)
    }

    @Test("a cancelled reader gets the end, and the loop hears of it")
    func cancellation() async throws {
        let news = News()
        let buffer = ChangeBuffer(high: 1000, max: 2000) { news.add($0) }
        let reader = Task { try await buffer.next() }
        await Task.yield()
        reader.cancel()
        #expect(try await reader.value == nil)
        #expect(news.all == [.abandoned])
        _ = buffer.put(try change(1))
        #expect(try await buffer.next() == nil)
    }

    @Test("nothing is lost or swapped between two threads", arguments: 0..<20 * TestScale.factor)
    func race(seed: UInt64) async throws {
        let buffer = ChangeBuffer(high: 2000, max: .max) { _ in }
        let changes = try (0..<500).map { try change($0) }
        async let writing: Void = {
            var random = SeededRandom(seed: seed)
            for change in changes {
                _ = buffer.put(change)
                if Int.random(in: 0..<4, using: &random) == 0 { await Task.yield() }
            }
            buffer.finish(.slowReader)
        }()
        var read: [Change] = []
        do {
            while let change = try await buffer.next() { read.append(change) }
            Issue.record("no error, seed \(seed)")
        } catch {
            #expect(error == .slowReader, "seed \(seed)")
        }
        await writing
        #expect(read == changes, "seed \(seed)")
    }
}

@Suite("What a change means for a place")
struct ChangeTests {
    @Test("a set at, below and above the place")
    func sets() throws {
        let change = try Change.set("a/b", #"{"c":{"d":1},"e":2}"#)
        for above in ["", "a", "a/b"] { #expect(change.part(at: try path(above)) == change) }
        #expect(try change.part(at: path("a/b/c")) == .set("a/b/c", #"{"d":1}"#))
        #expect(try change.part(at: path("a/b/x/y")) == .set("a/b/x/y", "null"))
        for other in ["b", "a/c", "a/bb"] { #expect(change.part(at: try path(other)) == nil) }
    }

    @Test("a priority concerns its node and those above it")
    func priorities() throws {
        let change = try Change.set("a/b/.priority", "1")
        for above in ["", "a", "a/b"] { #expect(change.part(at: try path(above)) == change) }
        for other in ["a/b/c", "a/c"] { #expect(change.part(at: try path(other)) == nil) }
    }

    @Test("an update is cut to what lies at the place")
    func updates() throws {
        let change = try Change.update("a", [("b/c", #"{"x":1}"#), ("b/d", "2"), ("e", "3"), (".priority", "4")])
        for above in ["", "a"] { #expect(change.part(at: try path(above)) == change) }
        #expect(try change.part(at: path("a/b")) == .update("a/b", [("c", #"{"x":1}"#), ("d", "2")]))
        #expect(try change.part(at: path("a/e")) == .set("a/e", "3"))
        #expect(try change.part(at: path("a/b/c/x")) == .set("a/b/c/x", "1"))
        #expect(try change.part(at: path("a/z")) == nil)
        let single = try Change.update("a", [("b", "1")])
        #expect(single.part(at: .root) == single)
    }
}
