import HearthDelivery
import HearthHTTPCodec
import HearthServerCodecs
import HearthIdentity
import HearthJSONValues
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSystem
import HearthAccountEndpoints
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// A request that administrators make over HTTP, made over a realtime connection.
struct AdminCall: Sendable {
    let database: String
    let host: [UInt8]
    let server: AdministeredServer
    /// The name of the administrator.
    let administrator: String

    /// Answers `{"status":200,"body":…}`; a body that is not JSON comes as a string.
    func make(_ method: [UInt8], _ target: [UInt8], _ body: [UInt8], _ then: @escaping AdminCompletion) {
        guard let head = Self.head(method, target, body.count, host) else {
            return then(.failure(AdminRefusal(status: "invalid_argument", text: "not a method and a target")))
        }
        let finish: @Sendable (HTTPResponse) -> Void = { then(.success(Self.json(of: $0))) }
        if let identity = server.identity, let route = IdentityRoute(head) {
            return ask(identity, route, head, body, finish)
        }
        switch AdminPlace(head) {
        case .settings?:
            let endpoint = SettingsEndpoint(database: database, server: server, administrator: administrator)
            server.helper.post { endpoint.change(head, body).finish(endpoint, finish) }
        case .databases?: finish(HTTPResponse.databases(server.databaseNames))
        case nil: finish(RESTError.notFound.response)
        }
    }

    private func ask(
        _ identity: IdentityService, _ route: IdentityRoute, _ head: RequestHead, _ body: [UInt8],
        _ finish: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        guard route.isAdministrative else { return finish(RESTError.notFound.response) }
        guard body.count <= route.bodyBytesMax else {
            return finish(HTTPResponse(.contentTooLarge, error: "Payload is too large"))
        }
        let request = IdentityRequest(
            route, head, body: body, from: nil, isSecure: server.tls != nil, standing: .administrator(administrator))
        if !identity.post(request, then: finish) { finish(HTTPResponse(identity: .busy)) }
    }

    /// The database's answer, as for other requests; nil if the database does not handle the request.
    static func question(
        _ method: [UInt8], _ target: [UInt8], _ body: [UInt8], host: [UInt8]
    ) -> AdministratorQuestion? {
        guard let head = head(method, target, body.count, host), head.asksForExplanation else { return nil }
        do throws(RESTError) {
            return .operation(try RESTExchange(explaining: body, head).operation)
        } catch {
            return .refused(json(of: error.response))
        }
    }

    private static func head(_ method: [UInt8], _ target: [UInt8], _ length: Int, _ host: [UInt8]) -> RequestHead? {
        guard (method + target).allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        var text = method + " ".utf8 + target + " HTTP/1.1\r\nHost: ".utf8 + host
        text += "\r\nContent-Length: \(length)\r\n\r\n".utf8
        return text.withUnsafeBytes { bytes in
            var input = bytes
            var decoder = RequestDecoder()
            guard case .head(let head)? = decoder.next(&input) else { return nil }
            return head
        }
    }

    private static func json(of response: HTTPResponse) -> [UInt8] {
        var body = Array("null".utf8)
        if case .text(let text) = response.body {
            if let value = try? JSONValue(parsing: text) {
                body = value.bytes
            } else {
                body = CanonicalJSON(string: text).bytes
            }
        }
        return AdminCallAnswer.json(status: response.status.code, body)
    }
}
