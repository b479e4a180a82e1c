import EventLoop
import JSONTree
import RealtimeDatabase
import Synchronization
import TreeStorage

/// The threads that stream large reads from snapshots of the tree files. Each read has a thread while it lasts; reads beyond the limit
/// wait, with their snapshot open.
final class SnapshotReaders: Sendable {
    private struct Job: Sendable {
        var stream: SnapshotStream
        var snapshot: TreeReader
    }

    private struct State {
        var running = 0
        var waiting: [Job] = []
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
            start(Job(stream: stream, snapshot: try tree.makeSnapshot()))
        } catch {
            fail(stream, error)
        }
    }

    func fail(_ stream: SnapshotStream, _ error: StorageError) { send(stream, .failed(error)) }

    private func start(_ job: Job) {
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

    private func work(on first: Job) {
        var next: Job? = first
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

    private func run(_ job: Job) {
        guard let form = job.stream.waitForForm() else { return giveUp(on: job.stream) }
        do throws(StorageError) {
            switch form {
            case .message(let head, let tail):
                var writer = MessageSnapshotWriter(head: head, tail: tail)
                // The number of frames comes first on the wire, so the rows are read twice.
                try Self.forEachText(job) { text in
                    writer.measure(text)
                    return true
                }
                let isWanted = try Self.forEachText(job) { text in
                    guard let frames = writer.write(text) else { return true }
                    send(job.stream, .bytes(frames))
                    return job.stream.waitForGrant()
                }
                guard isWanted else { return giveUp(on: job.stream) }
                send(job.stream, .bytes(writer.finish()))
            }
            send(job.stream, .end)
        } catch {
            send(job.stream, .failed(error))
        }
    }

    /// The connection is gone, or did nothing for so long that its snapshot is let go; then it must know, for it waits.
    private func giveUp(on stream: SnapshotStream) {
        if !stream.isCancelled { fail(stream, .busy("a large read was not taken in time")) }
    }

    /// The canonical text of the value, piece by piece, until `body` answers false.
    @discardableResult
    private static func forEachText(
        _ job: Job, _ body: ([UInt8]) -> Bool
    ) throws(StorageError) -> Bool {
        let path = job.stream.read.path
        var joiner = RowJoiner(base: path.encoded.count)
        let cursor = try job.snapshot.rows(from: path.encoded, below: path.subtreeEnd)
        while let row = try cursor.next() {
            joiner.append(key: row.key, value: row.value)
            if joiner.count >= SnapshotStream.pieceBytes, !body(joiner.takeText()) { return false }
        }
        joiner.close()
        return body(joiner.takeText())
    }
}
