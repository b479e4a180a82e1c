package import HearthRealtimeSessions
package import HearthServerProtocol

/// Answers administrators' requests over realtime sessions.
package struct AdministeredSessions: AdministratorResponder {
    private let server: AdministeredServer

    package init(_ server: AdministeredServer) { self.server = server }

    package func answer(
        _ request: AdminRequest, of administrator: AskingAdministrator,
        then: @escaping @Sendable (AdminAnswer) -> Void
    ) {
        Administration(server, administrator).answer(request, then: then)
    }

    package func question(
        _ method: [UInt8], _ target: [UInt8], _ body: [UInt8], host: [UInt8]
    ) -> AdministratorQuestion? {
        AdminCall.question(method, target, body, host: host)
    }
}
