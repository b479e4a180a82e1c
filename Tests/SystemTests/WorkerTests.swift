import Glibc
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

@Suite("A worker")
struct WorkerTests {
    @Test("keeps the order of each poster")
    func order() throws {
        let seen = Channel<[(poster: Int, number: Int)]>()
        let worker = try Worker<(poster: Int, number: Int)>(name: "worker") {
            var all: [(poster: Int, number: Int)] = []
            return { batch in
                all += batch
                if all.count == 4000 { seen.put(all) }
            }
        }
        let posters = try (0..<4).map { poster in
            try NamedThread(name: "poster") { for number in 0..<1000 { worker.post((poster, number)) } }
        }
        for poster in posters { poster.join() }
        let all = try seen.next()
        for poster in 0..<4 {
            #expect(all.filter { $0.poster == poster }.map(\.number) == [Int](0..<1000))
        }
        worker.stop()
    }

    @Test("in the background comes after others: its nice value is higher")
    func background() throws {
        func niceness(_ priority: NamedThread.Priority) throws -> Int32 {
            let seen = Channel<Int32>()
            // On Linux a nice value belongs to a thread, and zero names the calling one.
            let thread = try NamedThread(name: "thread", priority: priority) {
                seen.put(getpriority(Int32(PRIO_PROCESS.rawValue), 0))
            }
            thread.join()
            return try seen.next()
        }
        let normal = try niceness(.normal)
        #expect(try niceness(.background) > normal || normal == 19)
        #expect(try niceness(.normal) == normal)
    }

    @Test("gets as one batch what was posted while it worked")
    func batches() throws {
        let started = Channel<[Int]>()
        let goOn = Channel<Void>()
        let worker = try Worker<Int>(name: "worker") {
            { batch in
                started.put(batch)
                try? goOn.next()
            }
        }
        worker.post(1)
        #expect(try started.next() == [1])
        worker.post([2, 3])
        worker.post([])
        worker.post(4)
        #expect(worker.waitingCount == 3)
        goOn.put(())
        #expect(try started.next() == [2, 3, 4])
        goOn.put(())
        worker.stop()
    }

    @Test("refuses posts beyond its capacity and takes them again when there is room")
    func capacity() throws {
        let started = Channel<[Int]>()
        let goOn = Channel<Void>()
        let worker = try Worker<Int>(name: "worker", capacity: 2) {
            { batch in
                started.put(batch)
                try? goOn.next()
            }
        }
        #expect(worker.post(0))
        _ = try started.next()
        #expect(worker.post(1))
        #expect(worker.post([2, 3, 4]))
        #expect(!worker.post(5))
        // News that is not told again.
        #expect(worker.postBeyondCapacity(9))
        goOn.put(())
        #expect(try started.next() == [1, 2, 3, 4, 9])
        #expect(worker.post(6))
        goOn.put(())
        #expect(try started.next() == [6])
        goOn.put(())
        worker.stop()
    }

    @Test("finishes what was posted before it stops, and takes nothing after")
    func drains() throws {
        let goOn = Channel<Void>()
        let handled = Channel<Int>()
        let worker = try Worker<Int>(name: "worker") {
            { batch in
                try? goOn.next()
                for item in batch { handled.put(item) }
            }
        }
        worker.post(1)
        worker.post(2)
        let stopping = try NamedThread(name: "stopper") { worker.stop() }
        goOn.put(())
        goOn.put(())
        stopping.join()
        #expect(handled.waiting == [1, 2])
        #expect(!worker.post(3))
        worker.stop()
    }
}
