import Glibc

/// The resources that this process has taken.
package struct ProcessUsage {
    /// Resident, in bytes.
    package var memory: Int64
    /// Of processors.
    package var seconds: Double

    package static var current: ProcessUsage {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
        let pages = FileBytes.read("/proc/self/statm").flatMap { text in
            text.split(separator: UInt8(ascii: " ")).dropFirst().first.flatMap {
                Int64(String(decoding: $0, as: UTF8.self))
            }
        }
        return ProcessUsage(
            memory: (pages ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))),
            seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime))
    }
}
