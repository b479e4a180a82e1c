import Glibc
import HearthClient

/// Says what time it is, in milliseconds since 1970.
typealias Clock = @MainActor () async throws -> Int

/// The server's time, as far as it is known here.
@MainActor
func serverClock(_ database: Database) -> Clock {
    {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let offset = try await database.reference(withPath: ".info/serverTimeOffset").getData().value.int ?? 0
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000 + offset
    }
}
