import Glibc

/// A moment of the system's monotonic clock, which never goes back and stops while the machine sleeps.
package struct MonotonicTime: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary start.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Asks the clock (about 25 ns). In a loop, `EventLoop.now` is the cheaper and steadier choice.
    package static var current: MonotonicTime {
        read(CLOCK_MONOTONIC)
    }

    /// The same of a clock that also runs while the machine sleeps. Its start is another: the two must not be compared.
    package static var currentWithSleep: MonotonicTime { read(CLOCK_BOOTTIME) }

    private static func read(_ clock: clockid_t) -> MonotonicTime {
        var time = timespec()
        clock_gettime(clock, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Milliseconds since the same start.
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Stops at the far end of time instead of overflowing.
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    package static func - (left: MonotonicTime, right: MonotonicTime) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }
}

extension Duration {
    /// The duration in nanoseconds, held within the range of 64 bits (292 years).
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowToo) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowToo ? (seconds < 0 ? .min : .max) : sum
    }
}
