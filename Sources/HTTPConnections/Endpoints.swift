package import HearthAccess
package import HearthAccountEndpoints
package import HearthAdministration
package import HearthDatabaseHost
package import HearthSystem

/// The services of HTTP connections, in addition to those that all connections share.
package final class Endpoints: Sendable {
    /// Their settings when a server starts.
    package struct Configuration: Sendable {
        /// Further origins and hosts that development mode accepts, in addition to those of this machine.
        package var developmentAccess: DevelopmentAccess
        /// The database that a client means who names none.
        package var defaultDatabase: String
        /// Whether clients that offer permessage-deflate get compressed frames.
        package var compresses: Bool
        /// The host for reconnections of realtime clients; nil for the host that they used.
        package var advertisedHost: String?
        /// Connections are encrypted here.
        package var isSecure: Bool
        /// In development mode: where the files of the console are; nil for those in the program.
        package var consoleFolder: String?

        package init(
            developmentAccess: DevelopmentAccess, defaultDatabase: String, compresses: Bool, advertisedHost: String?,
            isSecure: Bool, consoleFolder: String?
        ) {
            self.developmentAccess = developmentAccess
            self.defaultDatabase = defaultDatabase
            self.compresses = compresses
            self.advertisedHost = advertisedHost
            self.isSecure = isSecure
            self.consoleFolder = consoleFolder
        }
    }

    let configuration: Configuration
    let readiness: Readiness
    /// Nil if accounts are not served.
    let identity: IdentityService?
    let server: AdministeredServer
    let console: ConsoleFiles
    /// Does work that would take an event loop too long, except parsing.
    let helper: Worker<@Sendable () -> Void>

    package init(
        _ configuration: Configuration, readiness: Readiness, identity: IdentityService?, server: AdministeredServer,
        helper: Worker<@Sendable () -> Void>
    ) {
        self.configuration = configuration
        self.readiness = readiness
        self.identity = identity
        self.server = server
        self.helper = helper
        console = ConsoleFiles(folder: configuration.consoleFolder)
    }
}
