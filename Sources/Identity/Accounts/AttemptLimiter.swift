import Synchronization

/// Counts attempts by key in windows of time, and says when there were too many. Keeps a bounded number of keys.
package final class AttemptLimiter: Sendable {
    private struct Window {
        var count: Int
        /// Milliseconds since 1970.
        var end: Int64
    }

    private let windows = Mutex<[String: Window]>([:])
    private let windowMilliseconds: Int64
    private let keysMax: Int

    /// - parameter keysMax: beyond this many keys the windows that end first are forgotten.
    package init(windowMilliseconds: Int64, keysMax: Int = 100_000) {
        self.windowMilliseconds = windowMilliseconds
        self.keysMax = keysMax
    }

    /// Counts an attempt. False if there were `max` before it in this window.
    package func admit(_ key: String, max: Int, now: Int64) -> Bool {
        windows.withLock { windows in
            if windows.count >= keysMax, windows[key] == nil { Self.makeRoom(in: &windows, now: now) }
            var window = windows[key] ?? Window(count: 0, end: now + windowMilliseconds)
            // The clock may have been set back since: no window lasts longer than it should.
            if window.end <= now || window.end > now + windowMilliseconds {
                window = Window(count: 0, end: now + windowMilliseconds)
            }
            guard window.count < max else { return false }
            window.count += 1
            windows[key] = window
            return true
        }
    }

    /// Forgets the attempts of a key, which has shown to be in good hands.
    package func forget(_ key: String) { windows.withLock { $0[key] = nil } }

    package func forgetAll() { windows.withLock { $0.removeAll() } }

    /// Forgets windows that are over, or else the tenth of all that ends first.
    private static func makeRoom(in windows: inout [String: Window], now: Int64) {
        let count = windows.count
        windows = windows.filter { $0.value.end > now }
        guard windows.count == count else { return }
        for (key, _) in windows.sorted(by: { $0.value.end < $1.value.end }).prefix(count / 10 + 1) {
            windows[key] = nil
        }
    }
}
