import HearthSystem
import HearthTestSupport
import Testing

@Suite("A semaphore")
struct SemaphoreTests {
    @Test("lets as many waits pass as it was signalled, and the next one give up")
    func counts() {
        let semaphore = Semaphore(value: 1)
        semaphore.signal()
        for _ in 0..<2 { #expect(semaphore.wait(atMost: Patience.limit)) }
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
        #expect(back.wait(atMost: Patience.limit))
        thread.join()
    }

    @Test("gives up in time, whatever the clock on the wall says")
    func wallClock() {
        let start = MonotonicTime.current
        for seconds in [3600, -3600] {
            // The deadline is made by a clock that is wrong; the kernel's is right.
            TimeOfDay.isWrong(by: .seconds(seconds)) {
                let before = MonotonicTime.current
                #expect(!Semaphore().wait(atMost: .milliseconds(20)))
                #expect(MonotonicTime.current - before >= .milliseconds(20))
            }
        }
        #expect(MonotonicTime.current - start < .seconds(3000))
    }
}
