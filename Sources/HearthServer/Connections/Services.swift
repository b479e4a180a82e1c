import EventLoop
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
    private let folder: DataFolder

    init(
        configuration: ServerConfiguration, folder: DataFolder, directory: DatabaseDirectory, databases: DatabaseThread,
        identity: IdentityService?, readiness: Readiness, log: Log
    ) throws(SystemError) {
        self.configuration = configuration
        self.folder = folder
        self.directory = directory
        self.databases = databases
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

    /// All databases that have files or are in use, and the default one, sorted.
    var databaseNames: [String] { Set(folder.databases).union(directory.names).sorted() }
}
