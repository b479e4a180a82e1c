import CSQLite
import Synchronization
import TestSupport

/// A layer below SQLite for the files of one folder: counts what is done to them, fails when it is told to, and knows
/// what a power loss would leave.
///
/// It is SQLite's default file system once a disk was made; files outside of the folders of disks pass through.
final class FaultyDisk: Sendable {
    /// What happens to an operation that changes a file or makes it durable.
    enum Fault: Sendable {
        case inputOutputError
        case full
    }

    private enum Change: Sendable {
        case write(at: Int, [UInt8])
        case truncate(Int)

        func apply(to bytes: inout [UInt8]) {
            switch self {
            case .write(let offset, let piece):
                let end = offset + piece.count
                if bytes.count < end { bytes += Array(repeating: 0, count: end - bytes.count) }
                bytes.replaceSubrange(offset..<end, with: piece)
            case .truncate(let count):
                if bytes.count > count {
                    bytes.removeLast(bytes.count - count)
                } else {
                    bytes += Array(repeating: 0, count: count - bytes.count)
                }
            }
        }
    }

    /// A file as it was when it was last synced, and what was done since.
    private struct File: Sendable {
        var durable: [UInt8]
        var changes: [Change] = []
    }

    private struct State: Sendable {
        var files: [String: File] = [:]
        var operations = 0
        var faultsFrom: Int?
        var faultsTo = Int.max
        var fault = Fault.inputOutputError
        var observer: (@Sendable (Int) -> Void)?
    }

    private let folder: String
    private let state = Mutex(State())

    init(folder: TemporaryFolder) {
        self.folder = folder.path
        FaultyFileSystem.install()
        FaultyFileSystem.disks.withLock { $0[folder.path] = self }
    }

    /// Forgets the disk: files opened from now on pass through.
    func remove() { FaultyFileSystem.disks.withLock { $0[folder] = nil } }

    /// Writes, truncations and syncs so far.
    var operations: Int { state.withLock { $0.operations } }

    /// Lets operations fail, from the n-th from now on (0 is the next), so many of them.
    func fail(after count: Int, _ fault: Fault, times: Int = .max) {
        state.withLock { state in
            state.faultsFrom = state.operations + count
            state.faultsTo = times == .max ? .max : state.operations + count + times
            state.fault = fault
        }
    }

    /// Calls `observer` before each operation with its number.
    func observe(_ observer: (@Sendable (Int) -> Void)?) { state.withLock { $0.observer = observer } }

    func heal() { state.withLock { $0.faultsFrom = nil } }

    // MARK: Crashes

    /// Makes a copy of the folder as it would be found after a crash. Of what was not synced each write of a sector
    /// survives with the given probability: 1 is a crash of the process, anything less a power loss.
    func copyAfterCrash(keeping probability: Double, seed: UInt64) -> TemporaryFolder {
        var random = SeededRandom(seed: seed)
        let copy = TemporaryFolder()
        let files = state.withLock { $0.files }
        for (name, file) in files.sorted(by: { $0.key < $1.key }) {
            // Shared memory is only a cache of the write-ahead file.
            var bytes = file.durable
            for change in file.changes {
                for piece in Self.sectors(of: change) where Double.random(in: 0..<1, using: &random) < probability {
                    piece.apply(to: &bytes)
                }
            }
            TemporaryFolder.write(bytes, to: copy.path + "/" + name)
        }
        return copy
    }

    private static func sectors(of change: Change) -> [Change] {
        guard case .write(let offset, let bytes) = change else { return [change] }
        return stride(from: 0, to: bytes.count, by: 512).map { start in
            .write(at: offset + start, Array(bytes[start..<min(start + 512, bytes.count)]))
        }
    }

    // MARK: What the file system reports

    func opened(_ name: String) {
        let path = folder + "/" + name
        state.withLock { state in
            if state.files[name] == nil { state.files[name] = File(durable: TemporaryFolder.contents(of: path)) }
        }
    }

    func deleted(_ name: String) { state.withLock { $0.files[name] = nil } }

    /// Counts an operation; answers the error code it must fail with, if it must.
    func begins() -> (write: Int32, sync: Int32)? {
        let (observer, number) = state.withLock { ($0.observer, $0.operations) }
        observer?(number)
        return state.withLock { state in
            defer { state.operations += 1 }
            guard let from = state.faultsFrom, state.operations >= from, state.operations < state.faultsTo else {
                return nil
            }
            return switch state.fault {
            case .inputOutputError: (SQLITE_IOERR | 3 << 8, SQLITE_IOERR | 4 << 8)
            case .full: (SQLITE_FULL, SQLITE_IOERR | 4 << 8)
            }
        }
    }

    func wrote(_ bytes: [UInt8], at offset: Int, to name: String) {
        state.withLock { $0.files[name]?.changes.append(.write(at: offset, bytes)) }
    }

    func truncated(_ name: String, to count: Int) {
        state.withLock { $0.files[name]?.changes.append(.truncate(count)) }
    }

    func synced(_ name: String) {
        state.withLock { state in
            guard var file = state.files.removeValue(forKey: name) else { return }
            for change in file.changes { change.apply(to: &file.durable) }
            file.changes = []
            state.files[name] = file
        }
    }
}
