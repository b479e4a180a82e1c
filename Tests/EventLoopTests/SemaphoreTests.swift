import EventLoop
import Testing

@Suite("A semaphore")
struct SemaphoreTests {
    @Test("lets as many waits pass as it was signalled, and the next one give up")
    func counts() {
        let semaphore = Semaphore(value: 1)
        semaphore.signal()
        for _ in 0..<2 { #expect(semaphore.wait(atMost: .seconds(60))) }
        #expect(!semaphore.wait(atMost: .milliseconds(1)))
    }

    @Test("wakes a thread that waits")
    func wakes() throws {
        let (there, back) = (Semaphore(), Semaphore())
        let thread = try NamedThread(name: "waiter") {
            there.wait()
            back.signal()
        }
        there.signal()
        #expect(back.wait(atMost: .seconds(60)))
        thread.join()
    }
}
