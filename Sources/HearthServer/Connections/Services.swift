import EventLoop
import SecurityRules
import TreeStorage

/// What connections of all loops share.
final class Services: Sendable {
    let configuration: ServerConfiguration
    let directory: DatabaseDirectory
    let databases: DatabaseThread
    let readiness: Readiness
    /// Does what would keep an event loop too long: reading and writing large texts.
    let helper: Worker<@Sendable () -> Void>
    let log: Log
    let requestMemory: RequestMemory
    let authenticator: Authenticator
    let rules: RulesInForce
    let denials: DenialLog
    private let folder: DataFolder

    init(
        configuration: ServerConfiguration, folder: DataFolder, directory: DatabaseDirectory, databases: DatabaseThread,
        rules: RulesInForce, denials: DenialLog, authenticator: Authenticator, readiness: Readiness, log: Log
    ) throws(SystemError) {
        self.configuration = configuration
        self.folder = folder
        self.directory = directory
        self.databases = databases
        self.rules = rules
        self.denials = denials
        self.authenticator = authenticator
        self.readiness = readiness
        self.log = log
        requestMemory = RequestMemory(bytesMax: configuration.requestBytesTotalMax)
        helper = try Worker(name: "helper") {
            { batch in
                for work in batch { work() }
            }
        }
    }

    /// Takes up the rules file if it has changed, and says in the log what came of it. Refused rules leave the old ones in force.
    func reloadRules() {
        do throws(RulesInForce.LoadError) {
            guard let program = try rules.reload() else { return }
            databases.rulesChanged()
            log.info("rules.loaded", [("file", rules.file ?? "")])
            warnOfOpenRules(program, in: rules.file ?? "")
        } catch {
            log.error("rules.refused", [("error", error.message), ("in-force", "the rules before")])
        }
    }

    func warnOfOpenRules(_ program: RulesProgram, in file: String) {
        guard program.isOpen, !configuration.isDevelopment, !configuration.allowsOpenRules else { return }
        log.warning("rules.open", [("file", file), ("meaning", "everybody may read or write everything")])
    }

    /// All databases that have files or are in use, and the default one, sorted.
    var databaseNames: [String] { Set(folder.databases).union(directory.names).sorted() }
}
