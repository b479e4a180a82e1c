package import HearthRealtimeDatabase
package import HearthServerProtocol

/// The result of an administrator's request: JSON text, or an error.
package typealias AdminAnswer = Result<[UInt8], AdminRefusal>

package struct AdminRefusal: Error {
    package var status: StaticString
    package var text: String

    package init(status: StaticString = "error", text: String) {
        self.status = status
        self.text = text
    }
}

/// An administrator who asks, over a session of a database.
package struct AskingAdministrator: Sendable {
    package let name: String
    /// The database of the session.
    package let database: UInt32
    /// The administrator's name for this server.
    package let host: [UInt8]
}

/// Answers administrators' requests over realtime connections, except for those that the session's database answers.
package protocol AdministratorResponder: Sendable {
    /// Work that has to wait is done on other threads.
    ///
    /// - parameter then: called once, perhaps at once.
    func answer(
        _ request: AdminRequest, of administrator: AskingAdministrator,
        then: @escaping @Sendable (AdminAnswer) -> Void)

    /// The question for the session's database in a request over HTTP that is made over the session. Nil if there is
    /// none.
    func question(
        _ method: [UInt8], _ target: [UInt8], _ body: [UInt8], host: [UInt8]
    ) -> AdministratorQuestion?
}

/// A request over HTTP to the database of a session, as the session makes it.
package enum AdministratorQuestion {
    case operation(Operation)
    /// The request is refused, with this answer.
    case refused([UInt8])
}
