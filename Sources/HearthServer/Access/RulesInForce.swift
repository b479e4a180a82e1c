import EventLoop
import Glibc
import Identity
import JSONTree
import RealtimeDatabase
import SecurityRules
import Synchronization
import TreeStorage

/// The rules of all databases: those of the server's rules file, but for databases that were given rules of their own,
/// which lie in the data folder as `NAME.rules`.
final class RulesInForce: Sendable {
    /// A rules file as it was read, and the sign by which a later look tells whether it is another.
    private struct Source {
        var program: RulesProgram?
        var stamp: FileStamp?
    }

    private struct State {
        var general: Source
        var own: [String: RulesProgram] = [:]
    }

    private let state: Mutex<State>
    private let folder: DataFolder
    /// The rules file that the server was started with.
    let file: String?
    /// Who has no rules may do everything (development), or nothing.
    private let fallback: RulesProgram?

    enum LoadError: Error {
        case unreadable(String)
        case refused(file: String, RulesError)

        var message: String {
            switch self {
            case .unreadable(let text): text
            case .refused(let file, let error): "\(file):\(error)"
            }
        }
    }

    /// Reads all there are. Throws if one of them is no rules file.
    init(file: String?, folder: DataFolder, isDevelopment: Bool) throws(LoadError) {
        self.file = file
        self.folder = folder
        fallback = isDevelopment ? nil : .closed
        var state = State(general: Source())
        if let file { state.general = try Self.load(file) }
        for name in folder.databasesWithRules {
            let path = folder.rulesPath(of: name)
            state.own[name] = try Self.load(path).program
        }
        self.state = Mutex(state)
    }

    /// What decides about a database; nil when everything is allowed.
    func program(for database: String) -> RulesProgram? {
        state.withLock { $0.own[database] ?? $0.general.program } ?? fallback
    }

    /// Whether a database has rules of its own.
    func hasOwn(_ database: String) -> Bool { state.withLock { $0.own[database] != nil } }

    /// Names of the databases that have rules of their own.
    var databasesWithOwn: [String] { state.withLock { $0.own.keys.sorted() } }

    /// The files with rules that let everybody read or write everything.
    var openRules: [String] {
        let (general, own) = state.withLock { ($0.general.program, $0.own) }
        var files: [String] = []
        if let general, general.isOpen, let file { files.append(file) }
        for (name, program) in own.sorted(by: { $0.key < $1.key }) where program.isOpen {
            files.append(folder.rulesPath(of: name))
        }
        return files
    }

    /// The rules file of a database as it was given, or as plain JSON.
    func text(of database: String, isStrict: Bool) -> [UInt8] {
        guard let program = program(for: database) else {
            return Array(#"{"rules":{".read":true,".write":true}}"#.utf8)
        }
        return isStrict ? program.strictFile : program.file
    }

    /// Gives a database rules of its own, for good.
    func set(_ program: RulesProgram, for database: String) throws(PrivateFile.Failure) {
        try PrivateFile.replace(folder.rulesPath(of: database), with: program.file)
        state.withLock { $0.own[database] = program }
    }

    /// Looks whether the rules file is another one by now. Answers nil if it is not, or else the new program; throws
    /// when it is no rules file, in which case the old rules stay in force.
    func reload() throws(LoadError) -> RulesProgram? {
        guard let file, let stamp = FileStamp(file), stamp != state.withLock({ $0.general.stamp }) else { return nil }
        do throws(LoadError) {
            let source = try Self.load(file)
            state.withLock { $0.general = source }
            return source.program
        } catch {
            state.withLock { $0.general.stamp = stamp }
            throw error
        }
    }

    /// A rules file, as it is now.
    static func read(_ file: String) throws(LoadError) -> RulesProgram {
        // A file that was read has a program.
        try load(file).program ?? .closed
    }

    private static func load(_ file: String) throws(LoadError) -> Source {
        let stamp = FileStamp(file)
        guard let text = FileBytes.read(file) else {
            throw .unreadable("cannot read the rules file \(file): \(String(cString: strerror(errno)))")
        }
        do throws(RulesError) {
            return Source(program: try RulesProgram(parsing: text), stamp: stamp)
        } catch {
            throw .refused(file: file, error)
        }
    }
}

extension RulesProgram {
    /// Denies everything to everybody but administrators.
    static let closed: RulesProgram = {
        guard let program = try? RulesProgram(parsing: Array(#"{"rules":{}}"#.utf8)) else {
            preconditionFailure("no rules are no rules file")
        }
        return program
    }()
}

extension RulesProgram {
    /// Whether somebody who is not signed in may read or write everything.
    var isOpen: Bool { letsNobody(read: .root) || letsNobody(write: CanonicalJSON(bool: true), at: .root) }

    func letsNobody(read path: Path) -> Bool { letsNobody(.read(path, nil)) }

    func letsNobody(write value: CanonicalJSON, at path: Path) -> Bool {
        letsNobody(.write([Assignment(target: WriteTarget(path: path), value: value)]))
    }

    /// Whether an empty database lets somebody who is not signed in do that.
    private func letsNobody(_ operation: RuleOperation) -> Bool {
        let nobody = RuleContext(auth: nil, now: 0)
        return (try? RulesJudge(self).decide(operation, nobody, in: MemoryTree(.null)))?.isAllowed ?? false
    }
}

/// What tells a file from one that has replaced it, or was written since.
struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Nil when there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }
}
