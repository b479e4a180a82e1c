/// What connections of all loops share.
final class Services: Sendable {
    let configuration: ServerConfiguration
    let directory: DatabaseDirectory
    let databases: DatabaseThread
    let log: Log

    init(configuration: ServerConfiguration, directory: DatabaseDirectory, databases: DatabaseThread, log: Log) {
        self.configuration = configuration
        self.directory = directory
        self.databases = databases
        self.log = log
    }
}
