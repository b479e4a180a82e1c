import Glibc
import Synchronization
import HearthSystem
import Testing

/// Memory goes back to the system soon after the process has grown, and otherwise seldom.
@Suite struct FreeMemoryTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    @Test func aSmallProcessIsLeftAlone() {
        #expect(!FreeMemory().isDue(resident: 60 << 20, now: start))
    }

    @Test func growthIsReasonEnough() {
        var memory = FreeMemory()
        #expect(memory.isDue(resident: 300 << 20, now: start))
        memory.returned(resident: 200 << 20, now: start)
        #expect(!memory.isDue(resident: 250 << 20, now: start + .seconds(5)))
        #expect(memory.isDue(resident: 265 << 20, now: start + .seconds(5)))
    }

    @Test func otherwiseAFewTimesAMinute() {
        var memory = FreeMemory()
        memory.returned(resident: 200 << 20, now: start)
        #expect(!memory.isDue(resident: 200 << 20, now: start + .seconds(9)))
        #expect(memory.isDue(resident: 200 << 20, now: start + .seconds(10)))
    }

    /// What a thread has freed at the end of its arena is not returned on request, so the allocator must do so at once.
    /// In a process of its own, where no other thread uses the arena.
    @Test func theEndOfAnArenaIsNotKept() async {
        await #expect(processExitsWith: .success) {
            FreeMemory.keepLittle()
            let isKept = Mutex(true)
            let thread = try NamedThread(name: "arena") {
                // The first time, the language allocates for itself, at the end of the arena.
                _ = FreeMemoryTests.keepsFreed(blocks: 1)
                // By default, the allocator keeps more of an arena's end after it has freed a large block.
                UnsafeMutableRawPointer.allocate(byteCount: 30 << 20, alignment: 16).deallocate()
                let isStillThere = FreeMemoryTests.keepsFreed(blocks: 320)
                isKept.withLock { $0 = isStillThere }
            }
            thread.join()
            exit(isKept.withLock { $0 } ? 1 : 0)
        }
    }

    /// Whether the middle of so many blocks is in memory after all of them were freed.
    private static func keepsFreed(blocks count: Int) -> Bool {
        let size = 64 << 10
        let blocks = (0..<count).map { _ in
            let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            memset(block, 1, size)
            return block
        }
        var pages = [UInt8](repeating: 0, count: 16)
        // Whole pages of it and its neighbour.
        let address = UInt(bitPattern: blocks[count / 2]) & ~0xFFFF + 0x10000
        for block in blocks.reversed() { block.deallocate() }
        let isMapped = mincore(UnsafeMutableRawPointer(bitPattern: address), size, &pages) == 0
        return isMapped && pages.contains { $0 & 1 == 1 }
    }

    /// Blocks below the size that the allocator maps by itself, with one that stays at the end of the arena.
    @Test func freedBlocksLeaveTheProcess() {
        let size = 64 << 10
        let blocks = (0..<1600).map { _ in
            let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            memset(block, 1, size)
            return block
        }
        let last = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        for block in blocks { block.deallocate() }
        let before = resident
        FreeMemory.giveBack()
        #expect(before - resident > 80 << 20)
        last.deallocate()
    }

    /// The second number of the file, in pages.
    private var resident: Int {
        var text = [CChar](repeating: 0, count: 128)
        let file = open("/proc/self/statm", O_RDONLY)
        read(file, &text, text.count - 1)
        close(file)
        let numbers = String(decoding: text.map(UInt8.init(bitPattern:)), as: UTF8.self).split(separator: " ")
        return (Int(numbers[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }
}
