import HearthStorageErrors
import HearthSystem
import HearthTreeStorage
import Synchronization

/// The thread that puts values of the past together that are too large for memory, one after the other.
final class PastCopies: Sendable {
    private final class Job: Sendable {
        let copy: PastCopy
        /// Until the value is handed over.
        private let place: Mutex<PastCopyPlaces.Place?>
        let bytesMax: Int
        let asker: PastAsker.Weak
        let then: @Sendable (Result<PastValue, HistoryError>) -> Void

        init(
            _ copy: PastCopy, _ place: PastCopyPlaces.Place, bytesMax: Int, _ asker: PastAsker.Weak,
            then: @escaping @Sendable (Result<PastValue, HistoryError>) -> Void
        ) {
            self.place = Mutex(place)
            (self.copy, self.bytesMax, self.asker, self.then) = (copy, bytesMax, asker, then)
        }

        func takePlace() -> PastCopyPlaces.Place? { place.withLock { $0.take() } }
    }

    private let worker: Worker<Job>
    private let places = PastCopyPlaces()
    private let isStopping: Flag

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// - parameters:
    ///   - folder: where the copies are made.
    ///   - freeBytesMin: room that they leave on the disk.
    init(_ folder: String, freeBytesMin: Int64) throws(SystemError) {
        let isStopping = Flag()
        self.isStopping = isStopping
        worker = try Worker(name: "past-copies", priority: .background) {
            { jobs in
                for job in jobs {
                    let place = job.takePlace()
                    do throws(HistoryError) {
                        var value = try job.copy.make(bytesMax: job.bytesMax) {
                            if isStopping.isSet.load(ordering: .relaxed) || !job.asker.isWaiting { return .stopping }
                            return Self.lackOfSpace(in: folder, bytesMin: freeBytesMin)
                        }
                        if case .rows(var rows) = value {
                            rows.place = place
                            value = .rows(rows)
                        }
                        job.then(.success(value))
                    } catch {
                        job.then(.failure(error))
                    }
                }
            }
        }
    }

    private static func lackOfSpace(in folder: String, bytesMin: Int64) -> StorageError? {
        guard let space = DiskSpace(of: folder), space.available < bytesMin else { return nil }
        return .overloaded("the disk has too little room for a large value of the past: try again later")
    }

    /// Has a copy made by another thread, as long as the asker waits for it.
    func make(
        _ copy: PastCopy, at place: PastCopyPlaces.Place, bytesMax: Int, for asker: PastAsker.Weak,
        then: @escaping @Sendable (Result<PastValue, HistoryError>) -> Void
    ) throws(HistoryError) {
        let job = Job(copy, place, bytesMax: bytesMax, asker, then: then)
        if !worker.post(job) { throw .storage(.stopping) }
    }

    /// A place for one more copy of a client.
    func place(for asker: PastAsker.Weak) throws(HistoryError) -> PastCopyPlaces.Place {
        do throws(StorageError) { return try places.place(for: asker.client) } catch { throw .storage(error) }
    }

    func stop() {
        isStopping.isSet.store(true, ordering: .relaxed)
        worker.stop()
    }
}
