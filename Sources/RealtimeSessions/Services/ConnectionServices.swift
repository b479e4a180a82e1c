package import HearthAccess
package import HearthDatabaseHost
package import HearthServerLog
package import HearthSystem

/// The services that connections of all loops share.
package final class ConnectionServices: Sendable {
    package let configuration: ConnectionConfiguration
    package let directory: DatabaseDirectory
    package let databases: DatabaseThread
    package let log: Log
    package let trail: AuditTrail
    package let requestMemory: RequestMemory
    package let clients: Clients
    package let authenticator: Authenticator
    /// Parses large messages and bodies.
    package let parser: Worker<@Sendable () -> Void>
    let administrators: any AdministratorResponder

    package init(
        configuration: ConnectionConfiguration, directory: DatabaseDirectory, databases: DatabaseThread, log: Log,
        trail: AuditTrail, requestMemory: RequestMemory, clients: Clients, authenticator: Authenticator,
        parser: Worker<@Sendable () -> Void>, administrators: any AdministratorResponder
    ) {
        self.configuration = configuration
        self.directory = directory
        self.databases = databases
        self.log = log
        self.trail = trail
        self.requestMemory = requestMemory
        self.clients = clients
        self.authenticator = authenticator
        self.parser = parser
        self.administrators = administrators
    }
}

/// The settings of connections when a server starts.
package struct ConnectionConfiguration: Sendable {
    package var connectionLimits: ConnectionLimits
    package var isDevelopment: Bool
    /// Listeners that one connection may have.
    package var listenersMax: Int
    /// Requests that take longer are named in the log, with their places; nil for none.
    package var slowRequest: Duration?

    package init(
        connectionLimits: ConnectionLimits, isDevelopment: Bool, listenersMax: Int, slowRequest: Duration?
    ) {
        self.connectionLimits = connectionLimits
        self.isDevelopment = isDevelopment
        self.listenersMax = listenersMax
        self.slowRequest = slowRequest
    }
}
