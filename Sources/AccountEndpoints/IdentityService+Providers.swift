import HearthEventLoop
import HearthHTTPCodec
import HearthIdentity
import HearthJSONValues
import HearthAccess
import HearthHTTPResponses

/// OpenID providers that administrators set up (accounts.md 13), and SAML providers, which this server has not.
extension IdentityService {
    func openIDProviders(_ request: IdentityRequest, id: String?) throws(AccountFailure) -> HTTPResponse {
        let administrator = try requireAdministrator(request)
        let fields = try request.fields()
        let realm = try realm(request, IdentityFields(JSONObject()), isAdmin: true)
        let directory = trust.providers
        switch (request.method, id) {
        case (.get, nil): return try list(directory.configurations(in: realm), request, realm)
        case (.get, let id?): return Self.resource(try known(id, in: realm), realm)
        case (.post, nil):
            let configuration = try newConfiguration(request, fields)
            try Self.mapped { () throws(ProviderDirectory.Failure) in try directory.create(configuration, in: realm) }
            note("provider created", configuration.id, by: administrator, request)
            return Self.resource(configuration, realm)
        case (.patch, let id?):
            var configuration = try known(id, in: realm)
            // Before anything is said about its members.
            if configuration.isFixed { throw Self.failure(.fixed) }
            try change(&configuration, request, fields)
            let changed = configuration
            try Self.mapped { () throws(ProviderDirectory.Failure) in try directory.update(changed, in: realm) }
            note("provider changed", id, by: administrator, request)
            return Self.resource(changed, realm)
        case (.delete, let id?):
            try Self.mapped { () throws(ProviderDirectory.Failure) in try directory.delete(id, in: realm) }
            note("provider deleted", id, by: administrator, request)
            return HTTPResponse(identity: JSONObject())
        default: throw .request(.notFound)
        }
    }

    func samlProviders(_ request: IdentityRequest, id: String?) throws(AccountFailure) -> HTTPResponse {
        _ = try requireAdministrator(request)
        _ = try realm(request, IdentityFields(JSONObject()), isAdmin: true)
        switch (request.method, id) {
        case (.get, nil): return HTTPResponse(identity: JSONObject(["inboundSamlConfigs": .array([])]))
        case (.get, _?), (.delete, _?): throw .refused(.configurationNotFound)
        case (.post, nil), (.patch, _?):
            throw .request(.notImplemented("This server does not support SAML providers; OpenID providers it does."))
        default: throw .request(.notFound)
        }
    }

    private func note(_ what: String, _ id: String, by administrator: String, _ request: IdentityRequest) {
        trail.note(
            AuditEvent(.accounts, client: request.client, [("by", administrator), ("did", what), ("provider", id)]))
    }

    private func known(_ id: String, in realm: Realm) throws(AccountFailure) -> OpenIDConfiguration {
        try Self.mapped { () throws(ProviderDirectory.Failure) in try trust.providers.configuration(id, in: realm) }
    }

    // MARK: Reading requests

    private func newConfiguration(
        _ request: IdentityRequest, _ fields: IdentityFields
    ) throws(AccountFailure) -> OpenIDConfiguration {
        guard let id = request.parameter("oauthIdpConfigId"), !id.isEmpty else { throw .refused(.missingConfigID) }
        guard OpenIDConfiguration.isValidID(id) else {
            throw .refused(.invalidConfigID, "An id is 'oidc.' and 1 to 64 letters, digits, -, _ and .")
        }
        var configuration = OpenIDConfiguration(id: id, clientID: "", issuer: "")
        try set(
            ["clientId", "issuer", "displayName", "enabled", "clientSecret", "responseType"], of: &configuration, fields
        )
        return configuration
    }

    /// Without a mask the request says all there is.
    private func change(
        _ configuration: inout OpenIDConfiguration, _ request: IdentityRequest, _ fields: IdentityFields
    ) throws(AccountFailure) {
        guard let mask = request.parameter("updateMask"), !mask.isEmpty else {
            configuration = OpenIDConfiguration(id: configuration.id, clientID: "", issuer: "")
            return try set(
                ["clientId", "issuer", "displayName", "enabled", "clientSecret", "responseType"], of: &configuration,
                fields)
        }
        try set(mask.split(separator: ",").map { String($0) }, of: &configuration, fields)
    }

    /// Sets the fields at the paths to those of the request, which may be absent, and checks the whole.
    private func set(
        _ paths: [String], of configuration: inout OpenIDConfiguration, _ fields: IdentityFields
    ) throws(AccountFailure) {
        let types = try fields.object("responseType")
        for path in paths {
            switch path {
            case "name": break
            case "clientId", "client_id": configuration.clientID = try text("clientId", fields) ?? ""
            case "issuer": configuration.issuer = try text("issuer", fields) ?? ""
            case "displayName", "display_name": configuration.displayName = try text("displayName", fields)
            case "enabled": configuration.isEnabled = try fields.bool("enabled") ?? false
            case "clientSecret", "client_secret": configuration.clientSecret = try text("clientSecret", fields)
            case "responseType", "response_type":
                configuration.wantsIDToken = try types?.bool("idToken") ?? (types?.has("code") != true)
                configuration.wantsCode = try types?.bool("code") ?? false
            case "responseType.idToken", "response_type.id_token":
                configuration.wantsIDToken = try types?.bool("idToken") ?? false
            case "responseType.code", "response_type.code": configuration.wantsCode = try types?.bool("code") ?? false
            default: throw .request(.invalidArgument("Invalid value at 'updateMask': there is no '\(path)'"))
            }
        }
        if configuration.clientID.isEmpty { throw .refused(.missingOAuthClientID) }
        if configuration.issuer.isEmpty { throw .refused(.missingIssuer) }
        guard let address = FetchAddress(configuration.issuer), !configuration.issuer.contains("?") else {
            throw .refused(.invalidConfig, "The issuer must be an https address without a query.")
        }
        // Names are looked up when keys are fetched, and refused then.
        let isPublic = SocketAddress(numeric: address.host, port: 0).map { NetworkList.isPublic($0.unmapped) } ?? true
        guard isDevelopment || address.isSecure && isPublic else {
            throw .refused(
                .invalidConfig, "The issuer must be on the public internet; others belong in the server's trust file.")
        }
        guard configuration.wantsIDToken || configuration.wantsCode else {
            throw .refused(.invalidOAuthResponseType, "One of idToken and code is needed.")
        }
        if configuration.wantsCode, configuration.clientSecret == nil { throw .refused(.missingOAuthClientSecret) }
    }

    private static let textByteCountMax = 1024

    private func text(_ name: String, _ fields: IdentityFields) throws(AccountFailure) -> String? {
        guard let text = try fields.text(name), !text.isEmpty else { return nil }
        guard text.utf8.count <= Self.textByteCountMax else {
            throw .request(.invalidArgument("Invalid value at '\(name)': more than \(Self.textByteCountMax) bytes"))
        }
        return text
    }

    // MARK: Answers

    private func list(
        _ all: [OpenIDConfiguration], _ request: IdentityRequest, _ realm: Realm
    ) throws(AccountFailure) -> HTTPResponse {
        let query = IdentityFields(IdentityRequest.object(ofForm: Array(request.query.bytes)))
        let size = try query.integer("pageSize") ?? 20
        guard 1...100 ~= size else { throw .refused(.invalidPageSelection) }
        let last = try query.text("pageToken") ?? ""
        let rest = all.filter { $0.id > last }
        let page = rest.prefix(Int(size))
        return HTTPResponse(
            identity: JSONObject([
                "oauthIdpConfigs": page.isEmpty ? nil : .array(page.map { .object(Self.members($0, realm)) }),
                "nextPageToken": page.count < rest.count ? page.last.map { .text($0.id) } : nil,
            ]))
    }

    private static func resource(_ configuration: OpenIDConfiguration, _ realm: Realm) -> HTTPResponse {
        HTTPResponse(identity: members(configuration, realm))
    }

    private static func members(_ configuration: OpenIDConfiguration, _ realm: Realm) -> JSONObject {
        let tenant = realm.tenant.map { "/tenants/\($0)" } ?? ""
        var members = JSONObject([
            "name": .text("projects/\(realm.project)\(tenant)/oauthIdpConfigs/\(configuration.id)")
        ])
        members.merge(configuration.members)
        return members
    }

    private static func mapped<Outcome>(
        _ body: () throws(ProviderDirectory.Failure) -> Outcome
    ) throws(AccountFailure) -> Outcome {
        do throws(ProviderDirectory.Failure) { return try body() } catch { throw failure(error) }
    }

    private static func failure(_ failure: ProviderDirectory.Failure) -> AccountFailure {
        switch failure {
        case .exists: .refused(.configurationExists)
        case .unknown: .refused(.configurationNotFound)
        case .fixed:
            .refused(.invalidConfig, "The provider is in the server's trust file, which wins: it is changed there.")
        case .tooMany: .refused(.quotaExceeded, "No more providers can be kept.")
        case .file(let text): .failed(text)
        }
    }
}
