import HearthEventLoop
import Glibc
import HearthTestSupport
import Testing

@Suite("Signals")
struct SignalTests {
    @Test("become calls on a loop, until it shuts down")
    func forward() async {
        // In a process of its own, because handlers belong to the process.
        await #expect(processExitsWith: .signal(SIGTERM)) {
            let loop = try EventLoop(name: "test")
            try loop.start()
            let seen = Channel<Int32>()
            try Signals.forward([SIGTERM, SIGHUP, SIGUSR1], to: loop) { signal in
                seen.put(loop.isCurrent ? signal : -1)
            }
            for signal in [SIGHUP, SIGUSR1, SIGTERM, SIGHUP] {
                kill(getpid(), signal)
                try #require(try seen.next() == signal)
            }
            loop.stop()
            loop.join()
            kill(getpid(), SIGTERM)
            pause()
        }
    }
}
