import HearthRealtimeSessions

/// Called once with the answer to an administrator's request, on any thread.
typealias AdminCompletion = @Sendable (AdminAnswer) -> Void
