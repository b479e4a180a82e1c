import Synchronization

/// Remembers names for a time. Keeps a bounded number of them.
package final class ExpiringSet: Sendable {
    private let ends = Mutex<[String: Int64]>([:])
    private let countMax: Int

    /// - parameter countMax: beyond this many names those that end first are forgotten.
    package init(countMax: Int = 100_000) { self.countMax = countMax }

    /// - parameter now: in the unit of `until`, as everywhere here.
    package func contains(_ name: String, now: Int64) -> Bool { ends.withLock { $0[name].map { $0 > now } ?? false } }

    package func insert(_ name: String, until end: Int64) {
        ends.withLock { ends in
            if ends.count >= countMax, ends[name] == nil { Self.makeRoom(in: &ends) }
            ends[name] = end
        }
    }

    /// Adds a name that is not known; false if it is.
    package func insertNew(_ name: String, until end: Int64, now: Int64) -> Bool {
        ends.withLock { ends in
            if let known = ends[name], known > now { return false }
            if ends.count >= countMax { Self.makeRoom(in: &ends) }
            ends[name] = end
            return true
        }
    }

    package func removeAll() { ends.withLock { $0.removeAll() } }

    private static func makeRoom(in ends: inout [String: Int64]) {
        for (name, _) in ends.sorted(by: { $0.value < $1.value }).prefix(ends.count / 10 + 1) { ends[name] = nil }
    }
}
