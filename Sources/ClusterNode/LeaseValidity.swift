import HearthSystem
import Synchronization

/// Until when this node may answer for what its lease gives it. Any thread.
final class LeaseValidity: Sendable {
    private let current = Mutex<(lease: Int64, end: Int64)?>(nil)

    /// - parameter new: the lease, and its end by ``MonotonicTime/currentWithSleep``; nil without one.
    func set(_ new: (lease: Int64, end: Int64)?) { current.withLock { $0 = new } }

    /// Whether a lease has not ended at this moment.
    func isValid(_ lease: Int64) -> Bool {
        guard let (current, end) = current.withLock({ $0 }) else { return false }
        return current == lease && MonotonicTime.currentWithSleep.milliseconds < end
    }
}
