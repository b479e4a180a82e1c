import CHearthLinux
package import HearthSystem

/// Several loops, started and ended together. A connection stays with the loop it was given to.
package final class EventLoopGroup: Sendable {
    package let loops: [EventLoop]

    /// CPUs this process may run on, which is the default number of loops.
    package static var availableCPUCount: Int { Int(linux_available_cpu_count()) }

    /// Makes and starts loops named `name-0`, `name-1`, …, which share a count of waiting output.
    package init(
        count: Int = EventLoopGroup.availableCPUCount, name: String = "loop",
        outbound: OutboundMemory = OutboundMemory()
    ) throws(SystemError) {
        precondition(count > 0, "a group needs a loop")
        var loops: [EventLoop] = []
        do throws(SystemError) {
            for index in 0..<count {
                let loop = try EventLoop(name: "\(name)-\(index)", outbound: outbound)
                try loop.start()
                loops.append(loop)
            }
        } catch {
            for loop in loops { loop.stop() }
            throw error
        }
        self.loops = loops
    }

    /// Ends all loops gracefully, as `EventLoop.shutDown(grace:)`. Returns at once.
    package func shutDown(grace: Duration) {
        for loop in loops { loop.shutDown(grace: grace) }
    }

    /// Aborts all streams and ends the loops. Returns at once.
    package func stop() { shutDown(grace: .zero) }

    /// Waits until all loops have ended. Not from a loop's thread.
    package func join() {
        for loop in loops { loop.join() }
    }
}
