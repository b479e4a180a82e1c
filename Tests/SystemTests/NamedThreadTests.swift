import Glibc
import Synchronization
import HearthSystem
import Testing

@Suite("Threads")
struct NamedThreadTests {
    /// The nice value of a thread, and how long it keeps a CPU that others want, in microseconds; nil if the kernel
    /// does not tell.
    private static func scheduling(
        of priority: NamedThread.Priority, startedBy starter: NamedThread.Priority
    ) throws -> (nice: Int32, slice: Double?) {
        let result = Mutex<(Int32, Double?)?>(nil)
        try withExtendedLifetime(result) {
            let outer = try NamedThread(name: "outer", priority: starter) {
                let inner = try? NamedThread(name: "inner", priority: priority) {
                    let nice = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
                    result.withLock { $0 = (nice, slice()) }
                }
                inner?.join()
            }
            outer.join()
        }
        return try #require(result.withLock { $0 })
    }

    /// The line `se.slice : 100000` of the kernel's report about this thread.
    private static func slice() -> Double? {
        guard let text = FileBytes.read("/proc/thread-self/sched") else { return nil }
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("se.slice") }
        return line?.split(separator: " ").last.flatMap { Double($0) }.map { $0 / 1000 }
    }

    @Test("have the priority they were started with, whichever thread has started them")
    func priorities() throws {
        let base = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getpid()))
        for starter in [NamedThread.Priority.prompt, .normal] {
            let prompt = try Self.scheduling(of: .prompt, startedBy: starter)
            let normal = try Self.scheduling(of: .normal, startedBy: starter)
            let background = try Self.scheduling(of: .background, startedBy: starter)
            #expect([prompt, normal, background].map(\.nice) == [0, 0, 4].map { min(19, base + $0) })
            guard let short = prompt.slice, let long = background.slice else { continue }
            #expect(normal.slice == long)
            // Kernels before 6.12 know no slices of threads.
            #expect(short == 100 || short == long)
        }
        #expect(try Self.scheduling(of: .background, startedBy: .background).nice == min(19, base + 4))
    }
}
