import CHearthFaults
import Glibc
import Synchronization

/// A folder whose files are watched at the level of system calls: by the code under test, by SQLite, by everything in
/// this process. It knows what a power cut would leave, in the strictest reading of POSIX, and can let calls fail.
///
/// A file's bytes are durable after a sync of the file, its name after a sync of the folder that holds it. Of the rest,
/// each sector that was written and each change of a name may or may not survive, in any order. The name of the folder
/// itself is durable.
package final class SimulatedDisk: @unchecked Sendable {
    // Safe because: `state` is used by `withState` alone, under the lock.

    package enum Call: Sendable {
        case open, read, write, truncate, sync, rename, remove, makeFolder

        /// It changes something, or makes it durable.
        var counts: Bool {
            switch self {
            case .open, .read: false
            case .write, .truncate, .sync, .rename, .remove, .makeFolder: true
            }
        }
    }

    /// Called before a system call with its path, relative to the folder; answers the error that it fails with, or 0.
    package typealias Observer = @Sendable (_ call: Call, _ path: String) -> Int32

    package let path: String
    private let lock = Mutex(())
    private var state = State()

    package init() {
        var template = Array("\(FAULTS_PREFIX)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("cannot make a folder: \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        _ = Self.isObserving
        Self.disks.withLock { $0[path] = Weak(disk: self) }
    }

    deinit {
        _ = Self.disks.withLock { $0.removeValue(forKey: path) }
        TemporaryFolder.remove(path)
    }

    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        lock.withLock { _ in body(&state) }
    }

    package func observe(_ observer: Observer?) { withState { $0.observer = observer } }

    /// Calls `body` before each call that changes something or makes it durable, with its number.
    package func beforeEachChange(_ body: @escaping @Sendable (Int) -> Void) {
        let count = Mutex(0)
        observe { call, _ in
            if call.counts {
                body(
                    count.withLock { count in
                        defer { count += 1 }
                        return count
                    })
            }
            return 0
        }
    }

    /// The kind of disk failure.
    package enum Fault: CaseIterable, Sendable {
        case inputOutputError, full

        fileprivate var code: Int32 {
            switch self {
            case .inputOutputError: EIO
            case .full: ENOSPC
            }
        }
    }

    /// Lets calls fail that change something or make it durable: from the n-th from now on (0 is the next), so many of
    /// them.
    package func fail(after count: Int, _ fault: Fault, times: Int = .max) {
        withState { $0.failure = Failure(after: count, times: times, fault: fault) }
    }

    /// Ends what `fail` has begun.
    package func heal() { withState { $0.failure = nil } }

    private struct Failure {
        /// Calls before the first that fails.
        var after: Int
        var times: Int
        let fault: Fault

        /// The error of the next call, 0 for none.
        mutating func next() -> Int32 {
            if after > 0 {
                after -= 1
                return 0
            }
            guard times > 0 else { return 0 }
            times -= 1
            return fault.code
        }
    }

    // MARK: The model

    private enum Change {
        case write(at: Int, [UInt8])
        case truncate(Int)

        func apply(to bytes: inout [UInt8]) {
            switch self {
            case .write(let offset, let piece):
                let end = offset + piece.count
                if bytes.count < end { bytes += Array(repeating: 0, count: end - bytes.count) }
                bytes.replaceSubrange(offset..<end, with: piece)
            case .truncate(let count):
                if bytes.count > count { bytes.removeLast(bytes.count - count) }
                if bytes.count < count { bytes += Array(repeating: 0, count: count - bytes.count) }
            }
        }

        var sectors: [Change] {
            guard case .write(let offset, let bytes) = self else { return [self] }
            return stride(from: 0, to: bytes.count, by: 512).map { start in
                .write(at: offset + start, Array(bytes[start..<min(start + 512, bytes.count)]))
            }
        }
    }

    /// A file as it was when it was last synced, and what was done since. It has any number of names.
    private final class File {
        var durable: [UInt8] = []
        var changes: [Change] = []

        func sync() {
            for change in changes { change.apply(to: &durable) }
            changes = []
        }
    }

    private enum Node {
        case file(File)
        case folder
    }

    /// What happened to the names in one folder at once: nil for those that are gone.
    private typealias NameChange = [(path: String, node: Node?)]

    private struct State {
        var observer: Observer?
        var failure: Failure?
        /// By path relative to the disk, as the process sees them and as they are durable.
        var names: [String: Node] = [:]
        var durableNames: [String: Node] = [:]
        /// Changes of names that are not durable, by folder ("" is the disk's own), in order.
        var nameChanges: [(folder: String, change: NameChange)] = []

        mutating func change(_ change: NameChange) {
            for (path, node) in change { names[path] = node }
            for (folder, part) in Dictionary(grouping: change, by: { SimulatedDisk.folder(of: $0.path) }) {
                nameChanges.append((folder, part))
            }
        }

        mutating func sync(folder: String) {
            for entry in nameChanges where entry.folder == folder {
                for (path, node) in entry.change { durableNames[path] = node }
            }
            nameChanges.removeAll { $0.folder == folder }
        }

        func file(_ path: String) -> File? {
            if case .file(let file) = names[path] { file } else { nil }
        }
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    // MARK: Power cuts

    /// A copy of the folder as it would be found after the power was cut now. What is not durable survives with the
    /// given probability, piece by piece; with 1 it is all there, as after the end of the process.
    package func imageAfterPowerCut(keeping probability: Double, seed: UInt64) -> TemporaryFolder {
        var random = SeededRandom(seed: seed)
        func survives() -> Bool { Double.random(in: 0..<1, using: &random) < probability }
        let image = TemporaryFolder()
        let contents: [(path: String, bytes: [UInt8]?)] = withState { state in
            var names = state.durableNames
            for entry in state.nameChanges where survives() {
                for (path, node) in entry.change { names[path] = node }
            }
            return names.sorted { $0.key < $1.key }.map { path, node in
                guard case .file(let file) = node else { return (path, nil) }
                var bytes = file.durable
                for change in file.changes {
                    for piece in change.sectors where survives() { piece.apply(to: &bytes) }
                }
                return (path, bytes)
            }
        }
        var folders: Set<String> = [""]
        for (path, bytes) in contents where folders.contains(Self.folder(of: path)) {
            if let bytes {
                TemporaryFolder.write(bytes, to: "\(image.path)/\(path)")
            } else {
                mkdir("\(image.path)/\(path)", 0o700)
                folders.insert(path)
            }
        }
        return image
    }

    // MARK: What the process does

    private struct Weak: Sendable {
        weak let disk: SimulatedDisk?
    }

    private static let disks = Mutex<[String: Weak]>([:])

    /// The disk of a path, and where the path is in it.
    private static func find(_ path: UnsafePointer<CChar>?) -> (disk: SimulatedDisk, path: String)? {
        guard let path else { return nil }
        let text = String(cString: path)
        let root = text.prefix(FAULTS_PREFIX.utf8.count + 6)
        guard let disk = disks.withLock({ $0[String(root)]?.disk }) else { return nil }
        let parts = text.dropFirst(root.count).split(separator: "/").filter { $0 != "." }
        return (disk, parts.joined(separator: "/"))
    }

    private static let isObserving: Bool = {
        faults_observe(
            { call, path in
                guard let (disk, path) = find(path), let call = Call(call) else { return 0 }
                let observer = disk.withState { $0.observer }
                let code = observer?(call, path) ?? 0
                if code != 0 || !call.counts { return code }
                return disk.withState { $0.failure?.next() ?? 0 }
            },
            { call, path, other, bytes, count, offset, isNew in
                guard let (disk, path) = find(path), let call = Call(call) else { return }
                let other = find(other)?.path
                disk.withState { state in
                    switch call {
                    case .open:
                        if isNew != 0 {
                            state.change([(path, .file(File()))])
                        } else if Int32(truncatingIfNeeded: count) & O_TRUNC != 0 {
                            state.file(path)?.changes.append(.truncate(0))
                        }
                    case .read: break
                    case .write:
                        let bytes = Array(UnsafeRawBufferPointer(start: bytes, count: count))
                        state.file(path)?.changes.append(.write(at: Int(offset), bytes))
                    case .truncate: state.file(path)?.changes.append(.truncate(count))
                    case .sync:
                        if let file = state.file(path) { file.sync() } else { state.sync(folder: path) }
                    case .rename:
                        guard let other, let node = state.names[path] else { return }
                        state.change([(path, nil), (other, node)])
                    case .remove: state.change([(path, nil)])
                    case .makeFolder: state.change([(path, .folder)])
                    }
                }
            })
        return true
    }()
}

extension SimulatedDisk.Call {
    fileprivate init?(_ call: faults_call) {
        switch call {
        case FAULTS_OPEN: self = .open
        case FAULTS_READ: self = .read
        case FAULTS_WRITE: self = .write
        case FAULTS_TRUNCATE: self = .truncate
        case FAULTS_SYNC: self = .sync
        case FAULTS_RENAME: self = .rename
        case FAULTS_REMOVE: self = .remove
        case FAULTS_MAKE_FOLDER: self = .makeFolder
        default: return nil
        }
    }
}
