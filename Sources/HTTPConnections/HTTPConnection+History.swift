import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors
import HearthTreeStorage
import HearthWireProtocol
import HearthAccess
import HearthREST
import HearthRealtimeSessions

/// Questions about the past over HTTP (additions.md 9).
extension HTTPConnection {
    func askHistory(
        _ request: HistoryRequest, _ exchange: RESTExchange, _ head: RequestHead, _ authentication: Authentication,
        _ writer: ResponseWriter
    ) {
        do throws(DatabaseDirectory.LookUpError) {
            let database = try context.services.directory.use(exchange.databaseName, by: client, mayCreate: false)
            work = .waiting(exchange, writer)
            let goOn = continuation {
                (connection: HTTPConnection, result: Result<PastValue, HistoryRefusal>) in
                connection.finishHistory(request, exchange, head, authentication, writer, result)
            }
            let asker = PastAsker(client: client.number)
            self.asker = asker
            context.services.askHistory(
                request, by: authentication.principal, for: asker, of: database.index, then: goOn)
            // It was paused while the credential was verified.
            if unread.isEmpty { stream.resumeReading() }
            context.release(database)
        } catch {
            respond(RESTError(error).response, with: writer)
        }
    }

    private func finishHistory(
        _ request: HistoryRequest, _ exchange: RESTExchange, _ head: RequestHead, _ authentication: Authentication,
        _ writer: ResponseWriter, _ result: Result<PastValue, HistoryRefusal>
    ) {
        asker = nil
        // It may have been answered that it takes too long.
        guard case .waiting = work else { return }
        work = .none
        switch result {
        case .success(.whole(let value)) where request.restores:
            let target = WriteTarget(path: request.path)
            let write = RESTExchange(
                databaseName: exchange.databaseName,
                operation: .set(target, IncomingValue(json: value), echoes: exchange.parameters.printing != .silent),
                action: .put, target: target, parameters: exchange.parameters)
            // The credential may have ended while the past was read.
            identify(head, writer) { connection, authentication in
                connection.ask(.success(write), authentication, nil, writer)
            }
        case .success(.rows(let rows)):
            let stream = context.services.databases.stream(
                rows, to: id, client: client.number, uid: authentication.principal.uid)
            guard let stream else {
                respond(RESTError(.stopping).response, with: writer)
                break
            }
            work = .waiting(exchange, writer)
            return begin(stream)
        case .success(.whole(let value)): respond(exchange.response(to: .value(value)), with: writer)
        case .failure(let refusal): respond(refusal.restError.response, with: writer)
        }
        readOn()
    }
}

extension HistoryRefusal {
    fileprivate var restError: RESTError {
        switch self {
        case .notAdmitted(let failure): RESTError(failure)
        case .history(.storage(let error)): RESTError(error)
        case .history(let error): RESTError(error.httpStatus, error.message)
        }
    }
}

extension HistoryError {
    fileprivate var httpStatus: HTTPStatus {
        switch self {
        case .notKept: .notFound
        case .tooOld: HTTPStatus(410)
        case .tooLarge: .contentTooLarge
        case .storage: .serviceUnavailable
        }
    }
}
