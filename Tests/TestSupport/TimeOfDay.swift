import CHearthFaults

/// The system's clock of the time of day, as the calling thread sees it.
package enum TimeOfDay {
    /// Runs `body` while the clock differs from the real one.
    package static func isWrong<Result>(by difference: Duration, _ body: () -> Result) -> Result {
        faults_set_clock(difference.components.seconds)
        defer { faults_set_clock(0) }
        return body()
    }
}
