import HearthDatabaseHost
import HearthEventLoop
import HearthHTTPCodec
import HearthServerCodecs
import HearthRealtimeDatabase
import HearthAccess
import HearthAccountEndpoints
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// Decisions about a request before its body is read.
extension HTTPConnection {
    /// A request whose body is large, or waits for `100 Continue`, is refused before the body comes if its head tells
    /// that it cannot succeed: by its place, its method, its database, its credential, or its length. Other bodies are
    /// taken first, so that the connection can go on after the refusal.
    func beginBody(of head: RequestHead) {
        let route = Route(head, servesAccounts: context.endpoints.identity != nil, role: role)
        var bytesMax = Int.max
        if case .identity(let route) = route { bytesMax = route.bodyBytesMax }
        body = IncomingBody(length: head.contentLength, bytesMax: bytesMax, isDropped: !route.keepsBody(of: head))
        let isSmall = head.contentLength.map { $0 <= RequestMemory.partBytesMin } ?? false
        if isSmall, !head.expectsContinue { return }
        guard admits(head, ResponseWriter()) else { return }
        switch route {
        case .data:
            if let refusal = refusal(of: head) { return refuseBody(refusal.response) }
            identify(head, ResponseWriter()) { connection, authentication in
                if let refusal = connection.refusal(ofDatabaseOf: head, by: authentication) {
                    return connection.refuseBody(refusal.response)
                }
                connection.admitBody(of: head)
            }
        case .settings:
            identify(head, ResponseWriter()) { connection, authentication in
                guard authentication.principal.isAdministrator else {
                    return connection.refuseBody(RESTError.notAdministrator.response)
                }
                connection.admitBody(of: head)
            }
        case .unknown, .notWebSocket, .databases, .health, .readiness, .metrics, .console:
            var writer = ResponseWriter(answering: head)
            writer.close()
            handle(head, writer)
        case .preflight, .longPoll: admitBody(of: head)
        case .identity(let route):
            if let length = head.contentLength, length > route.bodyBytesMax {
                return refuseBody(RESTError.payloadTooLarge.response)
            }
            admitBody(of: head)
        }
    }

    /// Why a request for data cannot succeed for any caller.
    private func refusal(of head: RequestHead) -> RESTError? {
        do throws(RESTError) { try RESTExchange.check(head) } catch { return error }
        return nil
    }

    private func refusal(ofDatabaseOf head: RequestHead, by authentication: Authentication) -> RESTError? {
        do throws(DatabaseDirectory.LookUpError) {
            try context.services.directory.check(
                head.databaseName, mayCreate: authentication.principal.isAdministrator)
        } catch {
            return RESTError(error)
        }
        return nil
    }

    /// Nothing speaks against the request as yet. Who makes it is found out again when all of the body is there. That
    /// may take hours, in which a credential can expire or be revoked.
    private func admitBody(of head: RequestHead) {
        let memory = context.services.requestMemory
        if let length = head.contentLength, !body.isDropped {
            if length > memory.claimBytesMax { return refuseBody(RESTError.payloadTooLarge.response) }
            if length > RequestMemory.smallBytesMax, !memory.hasRoom(length, for: client) {
                return refuseBody(RESTError.noRoom.response)
            }
        }
        restartPace()
        guard head.expectsContinue else { return }
        var interim: [UInt8] = []
        ResponseWriter.appendContinue(to: &interim)
        stream.send(shared: interim)
    }

    /// Answers instead of taking the body, and ends the connection: the rest of the body is not a request.
    func refuseBody(_ response: HTTPResponse) {
        body = IncomingBody()
        respond(response, with: ResponseWriter())
    }
}

extension Route {
    /// Whether the body of a request means something here.
    fileprivate func keepsBody(of head: RequestHead) -> Bool {
        switch self {
        case .data, .settings, .identity: head.method != .get && head.method != .head && head.method != .delete
        case .health, .readiness, .metrics, .databases, .preflight, .notWebSocket, .longPoll, .console, .unknown: false
        }
    }
}
