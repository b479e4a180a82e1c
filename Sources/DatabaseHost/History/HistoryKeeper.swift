package import HearthJSONTree
import HearthSecurityRules
import HearthServerLog
import HearthStorageErrors
import HearthSystem
import Synchronization
package import HearthTreeStorage

/// The thread that keeps the histories of databases whose settings have `.history` (``TreeStorage/HistoryFile``), and
/// answers questions about them. A question sees everything that was committed before it came.
package final class HistoryKeeper: Sendable {
    package typealias Answer = Result<PastValue, HistoryError>

    enum Job: Sendable {
        /// Reads new records.
        case advance(String)
        case ask(String, Path, PastQuestion, PastAsker.Weak, @Sendable (Answer) -> Void)
        case close(String, Semaphore)
    }

    private let worker: Worker<Job>
    private let copies: PastCopies
    private let held: Held
    let positions: HistoryPositions

    /// The databases whose files are not opened.
    private final class Held: Sendable {
        let names = Mutex<Set<String>>([])

        func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
    }

    /// - parameters:
    ///   - rules: say which places have a history.
    ///   - bytesMax: of a value that is put together in memory.
    ///   - freeBytesMin: room on the disk that others leave.
    init(
        _ folder: DataFolder, _ rules: RulesInForce, _ log: Log, bytesMax: Int, freeBytesMin: Int64
    ) throws(SystemError) {
        let positions = HistoryPositions()
        self.positions = positions
        let copies = try PastCopies(folder.path, freeBytesMin: freeBytesMin)
        self.copies = copies
        let held = Held()
        self.held = held
        PastCopy.removeRemains(in: folder.path)
        worker = try Worker(name: "keeper", priority: .background) {
            let state = State(folder, rules, log, positions, copies, held, bytesMax)
            return { jobs in state.run(jobs) }
        }
    }

    /// Has a database's history brought up to date, some time.
    func advance(_ database: String) { worker.post(.advance(database)) }

    /// Answers on another thread.
    package func ask(
        _ question: PastQuestion, at path: Path, of database: String, for asker: PastAsker.Weak,
        then: @escaping @Sendable (Answer) -> Void
    ) {
        worker.post(.ask(database, path, question, asker, then))
    }

    /// Closes the files of a database, and opens them no more. Questions about it are refused. Waits; not from the
    /// databases' thread.
    func hold(_ database: String) {
        _ = held.names.withLock { $0.insert(database) }
        let isClosed = Semaphore()
        if worker.post(.close(database, isClosed)) { isClosed.wait() }
    }

    /// Ends the hold that ``hold(_:)`` has begun, if any.
    func release(_ database: String) { _ = held.names.withLock { $0.remove(database) } }

    func stop() {
        worker.stop()
        copies.stop()
    }

    /// The thread's own state.
    private final class State {
        private let folder: DataFolder
        private let rules: RulesInForce
        private let log: Log
        private let positions: HistoryPositions
        private let copies: PastCopies
        private let held: Held
        private let bytesMax: Int
        private var files: [String: HistoryFile] = [:]
        /// The last error of each database, which is told once.
        private var problems: [String: StorageError] = [:]

        init(
            _ folder: DataFolder, _ rules: RulesInForce, _ log: Log, _ positions: HistoryPositions,
            _ copies: PastCopies, _ held: Held, _ bytesMax: Int
        ) {
            (self.folder, self.rules, self.log, self.positions) = (folder, rules, log, positions)
            (self.copies, self.held, self.bytesMax) = (copies, held, bytesMax)
            // The settings may have changed while no server ran.
            for database in folder.databases where definitions(of: database).isEmpty { remove(database) }
        }

        func run(_ jobs: [Job]) {
            var advanced: Set<String> = []
            for job in jobs {
                switch job {
                case .advance(let database):
                    if advanced.insert(database).inserted { advance(database) }
                case .ask(let database, let path, let question, let asker, let then):
                    answer(question, path, database, asker, then)
                case .close(let database, let isClosed):
                    files[database] = nil
                    isClosed.signal()
                }
            }
        }

        private func definitions(of database: String) -> [HistoryDefinition] {
            rules.program(for: database)?.settings.histories ?? []
        }

        private func advance(_ database: String) {
            if held.contains(database) { return }
            let definitions = definitions(of: database)
            do throws(StorageError) {
                guard !definitions.isEmpty else { return remove(database) }
                let file = try open(database)
                // Some at a time: questions come in between.
                let hasMore = try file.advance(
                    definitions, wall: WallClock.milliseconds, uptime: MonotonicTime.currentWithSleep.milliseconds)
                if hasMore { log.debug("history.folding") }
                positions.set(file.sequence, of: database)
                if problems.removeValue(forKey: database) != nil {
                    log.info("history.available", [("database", database)])
                }
            } catch {
                // It may be that of other files by now.
                files[database] = nil
                guard problems.updateValue(error, forKey: database) != error else { return }
                log.error("history.failed", [("database", database), ("error", error.message)])
            }
        }

        private func open(_ database: String) throws(StorageError) -> HistoryFile {
            if let file = files[database] { return file }
            let file = try HistoryFile(database, in: folder.path, durability: folder.durability)
            files[database] = file
            return file
        }

        /// No setting asks for it any more.
        private func remove(_ database: String) {
            files[database] = nil
            positions.set(nil, of: database)
            guard HistoryFile.exists(of: database, in: folder.path) else { return }
            HistoryFile.remove(of: database, in: folder.path)
            log.info("history.removed", [("database", database)])
        }

        private func answer(
            _ question: PastQuestion, _ path: Path, _ database: String, _ asker: PastAsker.Weak,
            _ then: @escaping @Sendable (Answer) -> Void
        ) {
            do throws(HistoryError) {
                let file = try upToDate(path, database)
                do throws(HistoryError) {
                    then(.success(.whole(try question.answer(at: path, by: file, bytesMax: bytesMax))))
                } catch {
                    guard error == .tooLarge, question.mayBeCopied else { throw error }
                    let place = try copies.place(for: asker)
                    let copy = try question.copy(at: path, by: file)
                    try copies.make(copy, at: place, bytesMax: bytesMax, for: asker, then: then)
                }
            } catch {
                then(.failure(error))
            }
        }

        /// The history of a place, with everything that was committed.
        private func upToDate(_ path: Path, _ database: String) throws(HistoryError) -> HistoryFile {
            let definitions = definitions(of: database)
            guard definitions.contains(where: { $0.pattern.concerns(path) }), folder.hasDatabase(database) else {
                throw .notKept
            }
            do throws(StorageError) {
                if held.contains(database) { throw HistoryFile.isReplaced }
                let file = try open(database)
                try file.verify()
                try file.follow(definitions)
                return file
            } catch {
                files[database] = nil
                throw .storage(error)
            }
        }
    }
}
