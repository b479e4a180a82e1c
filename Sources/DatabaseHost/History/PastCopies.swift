import HearthStorageErrors
import HearthSystem
import HearthTreeStorage
import Synchronization

/// The thread that puts values of the past together that are too large for memory, one after the other.
final class PastCopies: Sendable {
    private struct Job: Sendable {
        let copy: PastCopy
        let bytesMax: Int
        let then: @Sendable (Result<PastValue, HistoryError>) -> Void
    }

    private let worker: Worker<Job>
    private let state: State

    private final class State: Sendable {
        let waiting = Atomic(0)
        let isStopping = Atomic(false)
    }

    /// Copies that wait or are made; each keeps the history's files as they were.
    private static let waitingMax = 8

    init() throws(SystemError) {
        let state = State()
        self.state = state
        worker = try Worker(name: "past-copies", priority: .background) {
            { jobs in
                for job in jobs {
                    do throws(HistoryError) {
                        let value = try job.copy.make(bytesMax: job.bytesMax) {
                            state.isStopping.load(ordering: .relaxed)
                        }
                        job.then(.success(value))
                    } catch {
                        job.then(.failure(error))
                    }
                    state.waiting.subtract(1, ordering: .relaxed)
                }
            }
        }
    }

    var isEmpty: Bool { state.waiting.load(ordering: .relaxed) == 0 }

    func make(
        _ copy: PastCopy, bytesMax: Int, then: @escaping @Sendable (Result<PastValue, HistoryError>) -> Void
    ) throws(HistoryError) {
        guard state.waiting.load(ordering: .relaxed) < Self.waitingMax else {
            let text = "\(Self.waitingMax) large values of the past are being put together: try again later"
            throw .storage(.overloaded(text))
        }
        state.waiting.add(1, ordering: .relaxed)
        if !worker.post(Job(copy: copy, bytesMax: bytesMax, then: then)) { throw .storage(.stopping) }
    }

    func stop() {
        state.isStopping.store(true, ordering: .relaxed)
        worker.stop()
    }
}
