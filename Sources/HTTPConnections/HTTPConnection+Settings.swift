import HearthAccess
import HearthAdministration
import HearthDatabaseHost
import HearthHTTPCodec
import HearthServerCodecs
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// `/.settings/….json`, for administrators (docs/rules.md 1).
extension HTTPConnection {
    func answerSettings(_ head: RequestHead, _ body: [UInt8], _ writer: ResponseWriter) {
        admit(head, writer) { connection, administrator in
            connection.answer(administrator, head, body, writer)
        }
    }

    private func answer(_ administrator: String, _ head: RequestHead, _ body: [UInt8], _ writer: ResponseWriter) {
        let endpoint: SettingsEndpoint
        do throws(DatabaseDirectory.LookUpError) {
            endpoint = SettingsEndpoint(
                database: try context.services.directory.name(head.databaseName), server: context.endpoints.server,
                administrator: administrator)
        } catch {
            return respond(RESTError(error).response, with: writer)
        }
        if head.asksForExplanation {
            let exchange = Result { () throws(RESTError) in try RESTExchange(explaining: body, head) }
            return ask(exchange, .nobody, nil, writer)
        }
        guard [.put, .post, .delete].contains(head.method) else {
            return respond(endpoint.response(to: head, body), with: writer)
        }
        work = .beside
        besideLoop {
            endpoint.change(head, body)
        } then: { connection, change in
            // The credential may have ended while the text was checked.
            connection.admit(head, writer) { connection, _ in
                connection.work = .beside
                let end = connection.continuation { (connection, response: HTTPResponse) in
                    connection.work = .none
                    connection.respond(response, with: writer)
                    connection.readOn()
                }
                change.finish(endpoint, end)
            }
            connection.readOn()
        }
    }
}
