import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import Synchronization
import HearthSystem

/// The thread that watches the log of one database in etcd.
final class LogWatcher: Sendable {
    private struct Wanted {
        var watch: (watch: EtcdWatch, serial: UInt64)?
        var isStopping = false
    }

    private let wanted: Shared
    private let thread: NamedThread

    private final class Shared: Sendable {
        let state = Mutex(Wanted())
        let wakeUp = Semaphore()
    }

    /// The longest time for which nothing is heard of a new wish.
    private static let step = Duration.milliseconds(50)
    /// A member that says nothing for so long may be cut off from the others: the log is read again from another one.
    private static let silenceMax = Duration.seconds(5)

    /// - parameter report: told of the changes, on the thread.
    init(
        _ place: LogPlace, _ progress: LogProgress,
        report: @escaping @Sendable (ReplicatedLog.Event) -> Void
    ) throws(SystemError) {
        let shared = Shared()
        wanted = shared
        thread = try NamedThread(name: "etcd-watch") {
            var member = 0
            while true {
                let (current, isStopping) = shared.state.withLock { ($0.watch, $0.isStopping) }
                if isStopping { return }
                guard let current else {
                    shared.wakeUp.wait()
                    continue
                }
                Self.run(current.watch, current.serial, place.known, member: member, shared, progress, report)
                member += 1
            }
        }
    }

    /// Until the watch has ended, or another one is wanted. The log was read before, so its place is known.
    private static func run(
        _ watch: EtcdWatch, _ serial: UInt64, _ store: NodeStore?, member: Int, _ shared: Shared,
        _ progress: LogProgress, _ report: @Sendable (ReplicatedLog.Event) -> Void
    ) {
        func isWanted() -> Bool { shared.state.withLock { $0.watch?.serial == serial && !$0.isStopping } }
        do throws(EtcdError) {
            guard let store else { throw EtcdError.unavailable("it is not known where the log is") }
            let stream = try EtcdWatchStream(
                watch, of: store.cluster, member: store.preferredMember + member, deadline: .current + .seconds(2))
            while isWanted(), MonotonicTime.current - stream.lastHeard < silenceMax {
                for case .changes(let changes) in try stream.events(until: .current + step) {
                    report(.watched(serial, changes))
                }
                progress.awaitRoom()
            }
        } catch {
            // The log is read again, and says where the next watch begins.
        }
        let hasEnded = shared.state.withLock { state in
            guard state.watch?.serial == serial else { return false }
            state.watch = nil
            return true
        }
        if hasEnded { report(.watchEnded(serial)) }
    }

    /// Ends all earlier watches.
    func begin(_ watch: EtcdWatch, serial: UInt64) {
        shared { $0.watch = (watch, serial) }
    }

    func end() { shared { $0.watch = nil } }

    func stop() {
        shared { $0.isStopping = true }
        thread.join()
    }

    private func shared(_ change: (inout Wanted) -> Void) {
        wanted.state.withLock { change(&$0) }
        wanted.wakeUp.signal()
    }
}
