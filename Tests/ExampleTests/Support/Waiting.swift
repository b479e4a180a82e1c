import Observation

/// Waits until what view models hold is as wanted; it is looked at whenever it changes.
@MainActor
func until(_ condition: @MainActor () -> Bool) async {
    while true {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        let isTrue = withObservationTracking {
            condition()
        } onChange: {
            continuation.yield()
        }
        if isTrue { return }
        for await _ in changes { break }
    }
}

/// Runs an operation concurrently with the test, until the test ends.
@MainActor
func alongside(
    _ work: @escaping @MainActor () async throws -> Void, _ body: @MainActor () async throws -> Void
) async rethrows {
    let task = Task { try await work() }
    defer { task.cancel() }
    try await body()
}
