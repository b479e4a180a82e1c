import Glibc
import HearthRealtimeDatabase
import HearthTestSupport
import Testing

@testable import HearthTreeStorage

@Suite("the identity of a file")
struct FileIdentityTests {
    private let folder = TemporaryFolder()

    // A kernel that keeps exact times of change (6.13 and later) gives one to the first write after somebody has read
    // the time, and the next `fdatasync` then has to write the inode as well. Other writes get the time of the last
    // tick. An append after another one, with no reader between them, is such a write.
    @Test("does not ask for the time of the last change before each commit")
    func coarseTimes() throws {
        let path = folder.path + "/a.log"
        let log = try LogFile(path: path, durability: .memory, newEpoch: 1)
        var earlierTimes = 0
        for index in 1...40 {
            try log.append([LogRecord(firstSequence: UInt64(2 * index - 1), time: 0)])
            let before = clock(CLOCK_REALTIME)
            try log.append([LogRecord(firstSequence: UInt64(2 * index), time: 0)])
            var status = stat()
            try #require(stat(path + "-wal", &status) == 0)
            if nanoseconds(status.st_mtim) < before { earlierTimes += 1 }
        }
        #expect(earlierTimes > 0)
    }

    private func clock(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return nanoseconds(time)
    }

    private func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }
}
