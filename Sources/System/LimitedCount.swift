import Synchronization

/// A count that has a limit. Any thread.
package struct LimitedCount: ~Copyable, Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    package var count: Int { value.load(ordering: .relaxed) }

    /// Counts one more; false, and no change, if there are `countMax` already.
    package func enter(max countMax: Int) -> Bool {
        if value.add(1, ordering: .relaxed).newValue <= countMax { return true }
        leave()
        return false
    }

    package func leave() { value.subtract(1, ordering: .relaxed) }
}
