import EventLoop
import RealtimeDatabase
import Synchronization
import TreeStorage

/// The threads that stream large reads from snapshots of the tree files. Each read has a thread while it lasts; reads beyond the limit
/// wait, with their snapshot open.
final class SnapshotReaders: Sendable {
    private struct State {
        var running = 0
        var waiting: [SnapshotJob] = []
    }

    private let threadsMax: Int
    private let state = Mutex(State())
    private let send: @Sendable (SnapshotStream, SnapshotStream.Piece) -> Void

    /// - parameter send: hands a piece to the loop of the connection; called on the reading thread.
    init(threadsMax: Int, send: @escaping @Sendable (SnapshotStream, SnapshotStream.Piece) -> Void) {
        self.threadsMax = threadsMax
        self.send = send
    }

    /// Takes a snapshot of the file as it is now and streams from it.
    func start(_ stream: SnapshotStream, on tree: TreeFile) {
        do throws(StorageError) {
            let job = SnapshotJob(stream: stream, snapshot: try tree.makeSnapshot())
            stream.whenBegun { self.start(job) }
        } catch {
            fail(stream, error)
        }
    }

    func fail(_ stream: SnapshotStream, _ error: StorageError) { send(stream, .failed(error)) }

    private func start(_ job: SnapshotJob) {
        let mayRun = state.withLock { state in
            if state.running == threadsMax {
                state.waiting.append(job)
                return false
            }
            state.running += 1
            return true
        }
        guard mayRun else { return }
        do throws(SystemError) {
            _ = try NamedThread(name: "snapshot") { self.work(on: job) }
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

    private func run(_ job: SnapshotJob) {
        do throws(StorageError) {
            let isSent = try job.run { send(job.stream, $0) }
            // Whoever waits for the rest must know; a connection that is gone does not.
            if !isSent, !job.stream.isCancelled { fail(job.stream, .busy("a large read was not taken in time")) }
        } catch {
            send(job.stream, .failed(error))
        }
    }
}
