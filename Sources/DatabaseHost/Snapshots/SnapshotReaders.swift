package import HearthDelivery
import HearthRealtimeDatabase
import Synchronization
import HearthSystem
import HearthTreeStorage
import HearthStorageErrors

/// The threads that stream large reads from snapshots of the tree files. Each read has a thread while it lasts; reads
/// beyond that many wait, with their snapshot open, and reads beyond the limit of open snapshots are refused. Threads
/// and snapshots are shared out among clients, snapshots among users as well, and clients take turns (``Shares``).
package final class SnapshotReaders: Sendable {
    private struct State {
        var running: Shares<UInt64>
        var waiting = FairQueue<UInt64, SnapshotJob>()
    }

    private let limits: SnapshotLimits
    private let opened: OpenSnapshots
    private let state: Mutex<State>
    private let send: @Sendable (SnapshotStream, SnapshotStream.Piece) -> Void

    /// - parameter send: hands a piece to the loop of the connection; called on the reading thread.
    package init(_ limits: SnapshotLimits, send: @escaping @Sendable (SnapshotStream, SnapshotStream.Piece) -> Void) {
        self.limits = limits
        self.send = { stream, piece in
            stream.count(piece)
            send(stream, piece)
        }
        opened = OpenSnapshots(of: limits.openMax)
        state = Mutex(State(running: Shares(of: limits.threadsMax)))
    }

    func makeStream(_ read: SnapshotRead) -> SnapshotStream { SnapshotStream(read, limits) }

    /// Takes a snapshot of the file as it is now and streams from it.
    func start(_ stream: SnapshotStream, on tree: TreeFile) {
        start(stream) { () throws(StorageError) in try tree.makeSnapshot() }
    }

    /// Streams a value of the past.
    func start(_ stream: SnapshotStream, on rows: PastRows) { start(stream, rows.place) { rows.snapshot } }

    private func start(
        _ stream: SnapshotStream, _ placeOfCopy: PastCopyPlaces.Place? = nil,
        _ snapshot: () throws(StorageError) -> TreeReader
    ) {
        do throws(StorageError) {
            let place = try opened.place(for: stream.read)
            let job = SnapshotJob(stream: stream, snapshot: try snapshot(), place: place, placeOfCopy: placeOfCopy)
            stream.whenBegun { self.start(job) }
        } catch {
            fail(stream, error)
        }
    }

    func fail(_ stream: SnapshotStream, _ error: StorageError) { send(stream, .failed(error)) }

    private func start(_ job: SnapshotJob) {
        state.withLock { $0.waiting.append(job, for: job.client) }
        job.stream.whenCancelled { [weak self] in self?.dropCancelled() }
        startWaiting()
    }

    /// Starts the jobs that a thread is free for.
    private func startWaiting() {
        while let job = takeNext() {
            do throws(SystemError) {
                _ = try NamedThread(name: "snapshot", priority: .background) {
                    self.run(job)
                    self.end(job.client)
                    self.startWaiting()
                }
            } catch {
                end(job.client)
                fail(job.stream, .inputOutput("\(error)"))
            }
        }
    }

    /// Closes the snapshots of those that wait for a thread and are not wanted any more.
    private func dropCancelled() {
        let dropped = state.withLock { $0.waiting.removeAll { $0.stream.isCancelled } }
        _ = consume dropped
    }

    private func takeNext() -> SnapshotJob? {
        state.withLock { state in
            guard let (client, job) = state.waiting.takeFirst(where: { state.running.mayTake($0) }) else { return nil }
            state.running.take(client)
            return job
        }
    }

    private func end(_ client: UInt64) { state.withLock { $0.running.give(client) } }

    private var slowness: String {
        "a large read was given up: the client took less than \(limits.rateMin) bytes per second of it"
    }

    private func run(_ job: SnapshotJob) {
        do throws(StorageError) {
            let isSent = try job.run { send(job.stream, $0) }
            // A client that waits for the rest must know; a connection that is gone need not.
            if !isSent, !job.stream.isCancelled { fail(job.stream, .overloaded(slowness)) }
        } catch {
            send(job.stream, .failed(error))
        }
    }
}

extension SnapshotJob {
    fileprivate var client: UInt64 { stream.read.client }
}
