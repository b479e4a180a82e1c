import HearthSystem

/// Why a test stopped waiting.
package struct WaitedInVain: Error, CustomStringConvertible {
    package let description: String
}

/// Waits for a condition without a notification, such as a file of another process. Between two looks it sleeps, so
/// that tests that run at the same time have the processor.
///
/// - throws: `WaitedInVain` after `limit`; the errors of `condition`.
package func eventually(
    _ what: String, within limit: Duration = Patience.limit, isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = MonotonicTime.current + limit
    var pause = Duration.milliseconds(1)
    while try await !condition() {
        guard MonotonicTime.current < deadline else { throw WaitedInVain(description: "waited \(limit) for \(what)") }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(50))
    }
}

/// The same, for a test that has a thread of its own.
package func blockUntil(
    _ what: String, within limit: Duration = Patience.limit, _ condition: () throws -> Bool
) throws {
    let deadline = MonotonicTime.current + limit
    var pause = Duration.milliseconds(1)
    while try !condition() {
        guard MonotonicTime.current < deadline else { throw WaitedInVain(description: "waited \(limit) for \(what)") }
        _ = Semaphore().wait(atMost: pause)
        pause = min(pause * 2, .milliseconds(50))
    }
}
