import EventLoop
import Identity
import SecurityRules
import Synchronization
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
    /// Nil if accounts are not served.
    let identity: IdentityService?
    let authenticator: Authenticator
    let rules: RulesInForce
    let denials: DenialLog
    private let folder: DataFolder
    private let keys: KeyStore?
    /// When to look again whether the next key is due, in seconds since 1970.
    private let nextRotation = Atomic<Int64>(0)

    init(
        configuration: ServerConfiguration, folder: DataFolder, directory: DatabaseDirectory, databases: DatabaseThread,
        identity: IdentityService?, trust: Trust, rules: RulesInForce, denials: DenialLog,
        readiness: Readiness, log: Log
    ) throws(SystemError) {
        self.configuration = configuration
        self.folder = folder
        self.directory = directory
        self.databases = databases
        self.rules = rules
        self.denials = denials
        authenticator = Authenticator(
            verifier: trust.verifier, isDevelopment: configuration.isDevelopment, project: configuration.project,
            accounts: identity?.accounts)
        keys = trust.keys
        self.readiness = readiness
        self.log = log
        self.identity = identity
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

    /// Called now and then: has the keys of tokens changed when it is time, which is looked at once an hour.
    func tick() {
        let now = WallClock.milliseconds / 1000
        guard let keys, now >= nextRotation.load(ordering: .relaxed) else { return }
        nextRotation.store(now + 3600, ordering: .relaxed)
        guard keys.nextRotation <= now else { return }
        let log = log
        helper.post {
            do throws(KeyStoreError) {
                if try keys.rotate(now: now) { log.info("keys.rotated") }
            } catch {
                log.error("keys.failed", [("error", "\(error)")])
            }
        }
    }

    /// All databases that have files or are in use, and the default one, sorted.
    var databaseNames: [String] { Set(folder.databases).union(directory.names).sorted() }
}
