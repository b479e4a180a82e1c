import HearthSystem
import Synchronization

/// Until when this node may answer for what its lease gives it. Any thread.
final class LeaseValidity: Sendable {
    private let current = Mutex<(lease: Int64, end: Int64)?>(nil)

    /// - parameter new: the lease, and its end by ``MonotonicTime/currentWithSleep``; nil without one.
    func set(_ new: (lease: Int64, end: Int64)?) { current.withLock { $0 = new } }

    /// The time that is left of the lease; 0 after its end, nil without one.
    var remaining: Duration? {
        current.withLock { $0 }.map { .milliseconds(max($0.end - MonotonicTime.currentWithSleep.milliseconds, 0)) }
    }

    /// Whether a lease has not ended at this moment.
    func isValid(_ lease: Int64) -> Bool {
        guard let (current, end) = current.withLock({ $0 }) else { return false }
        return current == lease && MonotonicTime.currentWithSleep.milliseconds < end
    }
}
