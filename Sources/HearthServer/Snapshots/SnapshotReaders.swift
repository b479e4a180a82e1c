import EventLoop
import RealtimeDatabase
import Synchronization
import TreeStorage

/// The threads that stream large reads from snapshots of the tree files. Each read has a thread while it lasts; reads
/// beyond that many wait, with their snapshot open, and reads beyond the limit of open snapshots are refused.
final class SnapshotReaders: Sendable {
    private struct State {
        var running = 0
        var waiting: [SnapshotJob] = []
    }

    private let limits: SnapshotLimits
    private let opened = OpenSnapshots()
    private let state = Mutex(State())
    private let send: @Sendable (SnapshotStream, SnapshotStream.Piece) -> Void

    /// - parameter send: hands a piece to the loop of the connection; called on the reading thread.
    init(_ limits: SnapshotLimits, send: @escaping @Sendable (SnapshotStream, SnapshotStream.Piece) -> Void) {
        self.limits = limits
        self.send = { stream, piece in
            stream.count(piece)
            send(stream, piece)
        }
    }

    func makeStream(_ read: SnapshotRead) -> SnapshotStream { SnapshotStream(read, limits) }

    /// Takes a snapshot of the file as it is now and streams from it.
    func start(_ stream: SnapshotStream, on tree: TreeFile) {
        do throws(StorageError) {
            guard let place = opened.place(of: limits.openMax) else {
                throw .overloaded("\(limits.openMax) large reads are under way, as many as may be: try again later")
            }
            let job = SnapshotJob(stream: stream, snapshot: try tree.makeSnapshot(), place: place)
            stream.whenBegun { self.start(job) }
        } catch {
            fail(stream, error)
        }
    }

    func fail(_ stream: SnapshotStream, _ error: StorageError) { send(stream, .failed(error)) }

    private func start(_ job: SnapshotJob) {
        let mayRun = state.withLock { state in
            if state.running == limits.threadsMax {
                state.waiting.append(job)
                return false
            }
            state.running += 1
            return true
        }
        guard mayRun else { return }
        do throws(SystemError) {
            _ = try NamedThread(name: "snapshot", priority: .background) { self.work(on: job) }
        } catch {
            state.withLock { $0.running -= 1 }
            fail(job.stream, .inputOutput("\(error)"))
        }
    }

    private func work(on first: SnapshotJob) {
        var next: SnapshotJob? = first
        while let job = next {
            run(job)
            next = state.withLock { state in
                if state.waiting.isEmpty {
                    state.running -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
        }
    }

    private var slowness: String {
        "a large read was given up: the client took less than \(limits.rateMin) bytes per second of it"
    }

    private func run(_ job: SnapshotJob) {
        do throws(StorageError) {
            let isSent = try job.run { send(job.stream, $0) }
            // Whoever waits for the rest must know; a connection that is gone does not.
            if !isSent, !job.stream.isCancelled { fail(job.stream, .overloaded(slowness)) }
        } catch {
            send(job.stream, .failed(error))
        }
    }
}

/// Counts the snapshots that are open.
final class OpenSnapshots: Sendable {
    private let count = Atomic<Int>(0)

    /// Counts one more until it is let go; nil if there are as many as may be.
    func place(of countMax: Int) -> Place? {
        if count.add(1, ordering: .relaxed).newValue <= countMax { return Place(in: self) }
        count.subtract(1, ordering: .relaxed)
        return nil
    }

    final class Place: Sendable {
        private let snapshots: OpenSnapshots

        fileprivate init(in snapshots: OpenSnapshots) { self.snapshots = snapshots }

        deinit { snapshots.count.subtract(1, ordering: .relaxed) }
    }
}
