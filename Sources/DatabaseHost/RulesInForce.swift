import Glibc
package import HearthJSONTree
import HearthRealtimeDatabase
package import HearthSecurityRules
import Synchronization
package import HearthSystem
package import HearthTreeStorage

/// The rules and settings of all databases: those of the server's files, except for databases that were given their
/// own, which are in the data folder as `NAME.rules` and `NAME.settings` (``RulesPublication``).
package final class RulesInForce: Sendable {
    /// A rules file as it was read, and the sign by which a later look tells whether it is another.
    private struct Source<Contents: Sendable>: Sendable {
        var contents: Contents?
        var stamp: FileStamp?
    }

    private struct State {
        var general = Source<RulesProgram>()
        var own: [String: RulesProgram] = [:]
        var generalSettings = Source<DatabaseSettings>()
        var ownSettings: [String: DatabaseSettings] = [:]
    }

    private let state: Mutex<State>
    private let folder: DataFolder
    /// Held by the thread that changes files. The databases whose rules and settings are in force and on disk, but not
    /// yet in their own files (``RulesPublication``).
    private let unfinished: Mutex<Set<String>>
    /// The rules file that the server was started with.
    package let file: String?
    /// The settings file that the server was started with.
    package let settingsFile: String?
    /// Who has no rules may do everything (development), or nothing.
    private let fallback: RulesProgram?

    package enum LoadError: Error {
        case unreadable(String)
        case refused(file: String, RulesError)

        package var message: String {
            switch self {
            case .unreadable(let text): text
            case .refused(let file, let error): "\(file):\(error)"
            }
        }
    }

    /// Reads all there are. Throws if one of them has a mistake.
    package init(
        file: String?, settingsFile: String? = nil, settingsText: [UInt8]? = nil, folder: DataFolder,
        isDevelopment: Bool
    ) throws(LoadError) {
        self.file = file
        self.settingsFile = settingsFile
        self.folder = folder
        fallback = isDevelopment ? nil : .closed
        var state = State()
        var unfinished: Set<String> = []
        if let file { state.general = try Self.load(file) }
        if let settingsFile { state.generalSettings = try Self.loadSettings(settingsFile) }
        if let settingsText {
            do throws(RulesError) { state.generalSettings.contents = try DatabaseSettings(parsing: settingsText) } catch
            {
                throw .refused(file: "settings", error)
            }
        }
        for name in folder.databasesWithRules {
            state.own[name] = try Self.load(folder.rulesPath(of: name)).contents
        }
        for name in folder.databasesWithSettings {
            state.ownSettings[name] = try Self.settings(folder.settingsPath(of: name))
        }
        for name in folder.databasesWithPublication {
            let publication = RulesPublication(of: name, in: folder)
            (state.own[name], state.ownSettings[name]) = try Self.publication(publication.path)
            // On a disk that is full, they hold all the same.
            do throws(PrivateFile.Failure) { try publication.finish() } catch { unfinished.insert(name) }
        }
        self.state = Mutex(state)
        self.unfinished = Mutex(unfinished)
    }

    /// Rules and settings that are in force, and not in their own files yet.
    package static func publication(
        _ file: String
    ) throws(LoadError) -> (rules: RulesProgram, settings: DatabaseSettings) {
        let texts: RulesPublication.Texts
        do throws(PrivateFile.Failure) { texts = try RulesPublication.texts(file) } catch {
            throw .unreadable(error.description)
        }
        do throws(RulesError) {
            return (try RulesProgram(parsing: texts.rules), try DatabaseSettings(parsing: texts.settings))
        } catch {
            throw .refused(file: file, error)
        }
    }

    /// The rules of a database, with its settings; nil when everything is allowed and nothing is set.
    package func program(for database: String) -> RulesProgram? {
        if database == DataFolder.clusterDatabase { return ClusterRules.program }
        let (rules, settings) = state.withLock {
            ($0.own[database] ?? $0.general.contents, $0.ownSettings[database] ?? $0.generalSettings.contents)
        }
        guard let settings, !settings.isEmpty else { return rules ?? fallback }
        return (rules ?? fallback ?? .open).with(settings)
    }

    /// Whether there are files that may change.
    package var hasFiles: Bool { file != nil || settingsFile != nil }

    /// Whether a database has rules of its own.
    package func hasOwn(_ database: String) -> Bool { state.withLock { $0.own[database] != nil } }

    /// Names of the databases that have rules of their own.
    package var databasesWithOwn: [String] { state.withLock { $0.own.keys.sorted() } }

    /// Names of the databases that have settings of their own.
    package var databasesWithOwnSettings: [String] { state.withLock { $0.ownSettings.keys.sorted() } }

    /// The rules that a database has of its own.
    package func ownRules(of database: String) -> RulesProgram? { state.withLock { $0.own[database] } }

    /// The settings that a database has of its own.
    package func ownSettings(of database: String) -> DatabaseSettings? { state.withLock { $0.ownSettings[database] } }

    /// The files with rules that let everybody read or write everything.
    package var openRules: [String] {
        let (general, own) = state.withLock { ($0.general.contents, $0.own) }
        var files: [String] = []
        if let general, general.isOpen, let file { files.append(file) }
        for (name, program) in own.sorted(by: { $0.key < $1.key }) where program.isOpen {
            files.append(folder.rulesPath(of: name))
        }
        return files
    }

    /// The rules file of a database as it was given, or as plain JSON.
    package func text(of database: String, isStrict: Bool) -> [UInt8] {
        guard let program = program(for: database) else { return Self.openText }
        return isStrict ? program.strictFile : program.file
    }

    /// Gives a database rules of its own, for good.
    package func set(_ program: RulesProgram, for database: String) throws(PrivateFile.Failure) {
        try unfinished.withLock { (unfinished) throws(PrivateFile.Failure) in
            try settle(database, &unfinished)
            try PrivateFile.replace(folder.rulesPath(of: database), with: program.file)
            state.withLock { $0.own[database] = program }
        }
    }

    /// Gives a database rules and settings of its own in one step, for good: after a crash it has both or neither.
    package func set(
        _ program: RulesProgram, _ settings: DatabaseSettings, for database: String
    ) throws(PrivateFile.Failure) {
        try unfinished.withLock { (unfinished) throws(PrivateFile.Failure) in
            try settle(database, &unfinished)
            let publication = RulesPublication(of: database, in: folder)
            try publication.begin(rules: program.file, settings: settings.file)
            state.withLock {
                $0.own[database] = program
                $0.ownSettings[database] = settings
            }
            // They are in force and on disk. A failure here is made up for before the next change or at the next start.
            do throws(PrivateFile.Failure) { try publication.finish() } catch { unfinished.insert(database) }
        }
    }

    /// Before a change: brings the rules and settings in force into their own files, and removes refused ones.
    private func settle(_ database: String, _ unfinished: inout Set<String>) throws(PrivateFile.Failure) {
        let publication = RulesPublication(of: database, in: folder)
        guard unfinished.contains(database) else { return try publication.remove() }
        try publication.finish()
        unfinished.remove(database)
    }

    /// The rules file and the settings file of a database as they were given, of one moment.
    package func texts(of database: String) -> (rules: [UInt8], settings: [UInt8]) {
        let (rules, settings) = state.withLock {
            ($0.own[database] ?? $0.general.contents, $0.ownSettings[database] ?? $0.generalSettings.contents)
        }
        return ((rules ?? fallback)?.file ?? Self.openText, settings?.file ?? Self.noSettings)
    }

    private static let openText = Array(#"{"rules":{".read":true,".write":true}}"#.utf8)
    private static let noSettings = Array(#"{"settings":{}}"#.utf8)

    /// The settings file of a database as it was given.
    package func settingsText(of database: String) -> [UInt8] { texts(of: database).settings }

    /// Gives a database settings of its own, for good.
    package func set(_ settings: DatabaseSettings, for database: String) throws(PrivateFile.Failure) {
        try unfinished.withLock { (unfinished) throws(PrivateFile.Failure) in
            try settle(database, &unfinished)
            try PrivateFile.replace(folder.settingsPath(of: database), with: settings.file)
            state.withLock { $0.ownSettings[database] = settings }
        }
    }

    /// Takes the settings away that a database has of its own: those of the server's file hold again. Answers whether
    /// it had any.
    package func removeSettings(of database: String) throws(PrivateFile.Failure) -> Bool {
        try unfinished.withLock { (unfinished) throws(PrivateFile.Failure) in
            guard ownSettings(of: database) != nil else { return false }
            try settle(database, &unfinished)
            try PrivateFile.remove(folder.settingsPath(of: database))
            state.withLock { $0.ownSettings[database] = nil }
            return true
        }
    }

    /// The result of checking the files: the rules if they have changed, and whether the settings have.
    package struct Changes {
        package var program: RulesProgram?
        package var hasSettings = false
    }

    /// Looks whether the rules file or the settings file is another one by now, and takes up both in one step. Answers
    /// nil if neither is; throws when one of them has a mistake, in which case all stays as it is.
    package func reload() throws(LoadError) -> Changes? {
        let (oldRules, oldSettings) = state.withLock { ($0.general.stamp, $0.generalSettings.stamp) }
        let rulesStamp = file.flatMap { FileStamp($0) }
        let settingsStamp = settingsFile.flatMap { FileStamp($0) }
        let hasRules = rulesStamp != nil && rulesStamp != oldRules
        let hasSettings = settingsStamp != nil && settingsStamp != oldSettings
        guard hasRules || hasSettings else { return nil }
        do throws(LoadError) {
            // A change of one of them may be the remedy of a mistake that was in both.
            let rules = try file.map { (file) throws(LoadError) in try Self.load(file) }
            let settings = try settingsFile.map { (file) throws(LoadError) in try Self.loadSettings(file) }
            state.withLock { state in
                if let rules { state.general = rules }
                if let settings { state.generalSettings = settings }
            }
            return Changes(program: hasRules ? rules?.contents : nil, hasSettings: hasSettings)
        } catch {
            state.withLock { state in
                if hasRules { state.general.stamp = rulesStamp }
                if hasSettings { state.generalSettings.stamp = settingsStamp }
            }
            throw error
        }
    }

    /// A rules file, as it is now.
    package static func read(_ file: String) throws(LoadError) -> RulesProgram {
        // A file that was read has a program.
        try load(file).contents ?? .closed
    }

    /// A settings file, as it is now.
    package static func settings(_ file: String) throws(LoadError) -> DatabaseSettings {
        try loadSettings(file).contents ?? DatabaseSettings()
    }

    private static func load(_ file: String) throws(LoadError) -> Source<RulesProgram> {
        try load(file, "rules") { (text) throws(RulesError) in try RulesProgram(parsing: text) }
    }

    private static func loadSettings(_ file: String) throws(LoadError) -> Source<DatabaseSettings> {
        try load(file, "settings") { (text) throws(RulesError) in try DatabaseSettings(parsing: text) }
    }

    private static func load<Contents>(
        _ file: String, _ kind: String, _ parse: ([UInt8]) throws(RulesError) -> Contents
    ) throws(LoadError) -> Source<Contents> {
        let stamp = FileStamp(file)
        guard let text = FileBytes.read(file) else {
            throw .unreadable("cannot read the \(kind) file \(file): \(String(cString: strerror(errno)))")
        }
        do throws(RulesError) {
            return Source(contents: try parse(text), stamp: stamp)
        } catch {
            throw .refused(file: file, error)
        }
    }
}

extension RulesProgram {
    /// Denies everything to everybody but administrators.
    package static let closed: RulesProgram = {
        guard let program = try? RulesProgram(parsing: Array(#"{"rules":{}}"#.utf8)) else {
            preconditionFailure("no rules are no rules file")
        }
        return program
    }()
}

extension RulesProgram {
    /// Whether a client that is not signed in may read or write everything.
    package var isOpen: Bool { letsNobody(read: .root) || letsNobody(write: CanonicalJSON(bool: true), at: .root) }

    package func letsNobody(read path: Path) -> Bool { letsNobody(.read(path, nil)) }

    package func letsNobody(write value: CanonicalJSON, at path: Path) -> Bool {
        letsNobody(.write([Assignment(target: WriteTarget(path: path), value: value)]))
    }

    /// Whether an empty database lets a client that is not signed in do that.
    private func letsNobody(_ operation: RuleOperation) -> Bool {
        let nobody = RuleContext(auth: nil, now: 0)
        return (try? RulesJudge(self).decide(operation, nobody, in: MemoryTree(.null)))?.isAllowed ?? false
    }
}
