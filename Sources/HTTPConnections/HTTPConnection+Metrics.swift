import HearthEventLoop
import HearthHTTPCodec
import HearthServerCodecs
import HearthHTTPResponses
import HearthAdministration
import HearthRealtimeSessions

/// `/metrics`: for administrators, or for everybody who reaches the listener that answers nothing else.
extension HTTPConnection {
    func answerMetrics(_ head: RequestHead, _ writer: ResponseWriter) {
        if role == .metrics { return tellMetrics(writer) }
        admit(head, writer) { connection, _ in connection.tellMetrics(writer) }
    }

    private func tellMetrics(_ writer: ResponseWriter) {
        work = .beside
        let goOn = continuation { connection, response in
            connection.work = .none
            connection.respond(response, with: writer)
            connection.readOn()
            connection.setTimeout(wasIdle: false)
        }
        MetricsPage.gather(context.endpoints.server) { goOn(HTTPResponse(metrics: $0)) }
    }
}

extension HTTPResponse {
    fileprivate init(metrics: [UInt8]) {
        self.init(.ok, json: metrics)
        contentType = .metrics
    }
}
