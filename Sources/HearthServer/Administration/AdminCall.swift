import HearthDelivery
import HearthEventLoop
import HearthHTTPCodec
import HearthIdentity
import HearthJSONValues
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthSystem
import HearthAccountEndpoints
import HearthHTTPResponses
import HearthREST

/// A request that administrators make over HTTP, made over a realtime connection: the places of `Route` that are
/// theirs.
struct AdminCall: Sendable {
    let database: String
    let host: [UInt8]
    let services: Services
    /// The name of the administrator.
    let administrator: String

    /// Answers `{"status":200,"body":…}`; a body that is not JSON comes as a string.
    func make(_ method: [UInt8], _ target: [UInt8], _ body: [UInt8], _ then: @escaping Administration.Completion) {
        guard let head = Self.head(method, target, body.count, host) else {
            return then(.failure(AdminRefusal(status: "invalid_argument", text: "not a method and a target")))
        }
        let finish: @Sendable (HTTPResponse) -> Void = { then(.success(Self.json(of: $0))) }
        switch Route(head, servesAccounts: services.identity != nil) {
        case .settings:
            let endpoint = SettingsEndpoint(
                database: database, services: services, administrator: administrator)
            services.helper.post { endpoint.change(head, body).finish(endpoint, finish) }
        case .databases: finish(HTTPResponse.databases(services.databaseNames))
        case .identity(let route) where route.isAdministrative:
            guard body.count <= route.bodyBytesMax else {
                return finish(HTTPResponse(.contentTooLarge, error: "Payload is too large"))
            }
            let request = IdentityRequest(
                route, head, body: body, from: nil, isSecure: services.configuration.tls != nil,
                standing: .administrator(administrator))
            if services.identity?.post(request, then: finish) != true { finish(HTTPResponse(identity: .busy)) }
        default: finish(RESTError.notFound.response)
        }
    }

    /// What the database answers, as other requests; nil if it is not a question for it.
    static func operation(
        _ method: [UInt8], _ target: [UInt8], _ body: [UInt8], host: [UInt8]
    ) -> Result<Operation, RESTError>? {
        guard let head = head(method, target, body.count, host), head.asksForExplanation else { return nil }
        return Result { () throws(RESTError) in try RESTExchange(explaining: body, head).operation }
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

    static func json(of response: HTTPResponse) -> [UInt8] {
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

extension RequestHead {
    /// Why would an operation be allowed, or not?
    var asksForExplanation: Bool { method == .post && path.elementsEqual("/.settings/explain.json".utf8) }
}
