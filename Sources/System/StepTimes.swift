/// Tells of the long steps of a thread. A step is the work between two looks at the thread's mailbox or its sockets:
/// all other work of the thread waits until it is over.
///
/// Times are those of the clock, so a step during which the thread did not get a CPU counts as long, too.
package struct StepTimes: Sendable {
    /// A step of at least this is long.
    package static let longMin = Duration.milliseconds(10)

    private let report: @Sendable (_ step: StaticString, Duration) -> Void

    /// - parameter report: called for each long step, on its thread.
    package init(report: @escaping @Sendable (_ step: StaticString, Duration) -> Void) { self.report = report }

    /// A step has ended. Answers when: the next one may begin then. Costs one look at the clock.
    @discardableResult
    package func ended(_ step: StaticString, since start: MonotonicTime) -> MonotonicTime {
        let now = MonotonicTime.current
        if now - start >= Self.longMin { report(step, now - start) }
        return now
    }
}
