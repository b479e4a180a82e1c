import HearthEventLoop
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

@Suite("An event loop")
struct EventLoopTests {
    /// Numbers that several threads write down.
    private final class Record: Sendable {
        private let numbers = Mutex<[Int: [Int]]>([:])

        func add(_ number: Int, of writer: Int) { numbers.withLock { $0[writer, default: []].append(number) } }
        var all: [Int: [Int]] { numbers.withLock { $0 } }
    }

    @Test("runs the work of many threads on its own, each one's in order")
    func execute() throws {
        let loop = try TestLoop()
        let record = Record()
        let posters = try (0..<4).map { poster in
            try NamedThread(name: "poster") { [loop = loop.loop] in
                for number in 0..<2000 {
                    loop.execute { record.add(loop.isCurrent ? number : -1, of: poster) }
                }
            }
        }
        for poster in posters { poster.join() }
        try loop.run { _ in }
        for poster in 0..<4 { #expect(record.all[poster] == [Int](0..<2000)) }
        #expect(!loop.loop.isCurrent)
    }

    @Test("runs work posted by its own work in a later turn")
    func nestedExecute() throws {
        let loop = try TestLoop()
        let order = Channel<Int>()
        try loop.run { loop in
            loop.execute { order.put(2) }
            order.put(1)
        }
        #expect(try order.next(2) == [1, 2])
    }

    @Test("does at the end of a turn what its work asked for, in order, and then what that asks for")
    func endOfTurn() throws {
        let loop = try TestLoop()
        let order = Channel<Int>()
        try loop.run { loop in
            loop.atEndOfTurn {
                order.put(2)
                loop.atEndOfTurn { order.put(4) }
            }
            loop.atEndOfTurn { order.put(3) }
            order.put(1)
        }
        #expect(try order.next(4) == [1, 2, 3, 4])
    }

    @Test("runs all work it took and refuses the rest when it ends")
    func losesNoWork() throws {
        for _ in 0..<5 {
            let loop = try EventLoop(name: "test")
            try loop.start()
            let record = Record()
            let posters = try (0..<2).map { poster in
                try NamedThread(name: "poster") {
                    var number = 0
                    while loop.execute({ [number] in record.add(number, of: poster) }) { number += 1 }
                    record.add(number, of: poster + 10)
                }
            }
            loop.stop()
            loop.join()
            for poster in posters { poster.join() }
            for poster in 0..<2 {
                let taken = try #require(record.all[poster + 10]?.first)
                #expect(record.all[poster, default: []] == [Int](0..<taken))
            }
        }
    }

    @Test("can run on a thread of the caller")
    func run() throws {
        let loop = try EventLoop(name: "test")
        let seen = Channel<Bool>()
        loop.execute {
            seen.put(loop.isCurrent)
            loop.stop()
        }
        let thread = try NamedThread(name: "caller") { loop.run() }
        thread.join()
        #expect(try seen.next())
    }

    @Test("has as many companions in a group as there are CPUs to run on")
    func groupSize() throws {
        let group = try EventLoopGroup()
        #expect(group.loops.count == EventLoopGroup.availableCPUCount)
        #expect(group.loops.count >= 1)
        group.stop()
        group.join()
    }
}
