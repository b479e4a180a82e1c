import HearthJSONValues
package import HearthJSONWebTokens

/// The trusted issuers and providers of a server, as its operator writes them in JSON:
///
///     {
///       "issuers": [
///         {"firebase": "my-project"},
///         {"issuer": "https://id.example.com", "audiences": ["my-app"]},
///         {"issuer": "https://id.example.org", "audiences": ["my-app"], "keys": "https://id.example.org/jwks"},
///         {"issuer": "backend", "audiences": ["my-app"], "keyFile": "backend.pem"}
///       ],
///       "providers": [
///         {"id": "google.com", "clientIDs": ["….apps.googleusercontent.com"]},
///         {"id": "apple.com", "clientIDs": ["com.example.app"]},
///         {"id": "facebook.com", "applicationID": "…", "secret": "…"},
///         {"id": "oidc.example", "issuer": "https://id.example.com", "clientIDs": ["my-app"]}
///       ]
///     }
///
/// Clients send tokens of the issuers directly to the database, and their `uid` is trusted. With a credential of the
/// providers, users sign in and get tokens of this server.
package struct TrustFile: Sendable {
    /// The mistake, for people.
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }

    package let issuers: [ForeignIssuer]
    package let providers: IdentityProviders

    /// - parameter fetcher: gets the published documents.
    /// - parameter readFile: gets the files that are named, nil for one that cannot be read.
    package init(
        _ text: [UInt8], fetcher: any DocumentFetcher, readFile: (String) -> [UInt8]?
    ) throws(Failure) {
        guard let object = (try? JSONValue(parsing: text))?.object else { throw Failure("not a JSON object") }
        var file = Entry(place: "the file", object)
        var issuers: [ForeignIssuer] = []
        for var entry in try file.entries("issuers") {
            issuers.append(try Self.issuer(&entry, fetcher, readFile))
            try entry.finish()
        }
        var providers: [(id: String, provider: IdentityProviders.Provider)] = []
        for var entry in try file.entries("providers") {
            let id = try entry.text("id")
            for provider in try Self.providers(id, &entry, fetcher) { providers.append((id, provider)) }
            try entry.finish()
        }
        try file.finish()
        self.issuers = issuers
        self.providers = IdentityProviders(providers)
    }

    private static func issuer(
        _ entry: inout Entry, _ fetcher: any DocumentFetcher, _ readFile: (String) -> [UInt8]?
    ) throws(Failure) -> ForeignIssuer {
        if let project = try entry.optionalText("firebase") { return .firebase(project: project, fetcher: fetcher) }
        let issuer = try entry.text("issuer")
        let audiences = try entry.texts("audiences")
        let url = try entry.optionalText("keys")
        let keys: ForeignIssuer.Keys
        if let path = try entry.optionalText("keyFile") {
            if url != nil { throw Failure("\(entry.place): keys and keyFile exclude each other") }
            guard let set = readFile(path).flatMap(KeySet.init) else {
                throw Failure("\(entry.place): \(path) holds no public key that can be used")
            }
            keys = .fixed(set)
        } else {
            let location = url.map { RemoteKeys.Location.document(url: $0) } ?? .discovery(issuer: issuer)
            keys = .remote(RemoteKeys(location, fetcher: fetcher))
        }
        return ForeignIssuer(issuer: issuer, audiences: audiences, keys: keys)
    }

    private static func providers(
        _ id: String, _ entry: inout Entry, _ fetcher: any DocumentFetcher
    ) throws(Failure) -> [IdentityProviders.Provider] {
        switch id {
        case "google.com": return [.openID(.google(clientIDs: try entry.texts("clientIDs"), fetcher: fetcher))]
        case "apple.com": return [.openID(.apple(clientIDs: try entry.texts("clientIDs"), fetcher: fetcher))]
        case FacebookProvider.id:
            let application = try entry.text("applicationID")
            let graph = try entry.optionalText("graph") ?? FacebookProvider.graph
            let provider = FacebookProvider(
                applicationID: application, secret: try entry.text("secret"), baseURL: graph, fetcher: fetcher)
            return [.facebook(provider), .openID(.facebook(applicationID: application, fetcher: fetcher))]
        case _ where id.hasPrefix("oidc.") && id.utf8.count > 5:
            let issuer = try entry.text("issuer")
            let clientIDs = try entry.texts("clientIDs")
            return [.openID(.discovered(id: id, issuer: issuer, clientIDs: clientIDs, fetcher: fetcher))]
        default:
            throw Failure("\(entry.place): a provider is google.com, apple.com, facebook.com or oidc.NAME, not \(id)")
        }
    }
}

/// An object of the file, whose members are taken out one by one: remaining ones are mistakes.
private struct Entry {
    let place: String
    private var object: JSONObject

    init(place: String, _ object: JSONObject) {
        self.place = place
        self.object = object
    }

    private mutating func take(_ name: String) -> JSONValue? {
        defer { object[name] = nil }
        return object[name]
    }

    mutating func optionalText(_ name: String) throws(TrustFile.Failure) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.text, !text.isEmpty else { throw TrustFile.Failure("\(place): \(name) must be a text") }
        return text
    }

    mutating func text(_ name: String) throws(TrustFile.Failure) -> String {
        guard let text = try optionalText(name) else { throw TrustFile.Failure("\(place): \(name) is missing") }
        return text
    }

    mutating func texts(_ name: String) throws(TrustFile.Failure) -> [String] {
        let values = take(name)?.array ?? []
        let texts = values.compactMap(\.text)
        guard !texts.isEmpty, texts.count == values.count, !texts.contains("") else {
            throw TrustFile.Failure("\(place): \(name) must be a list of texts")
        }
        return texts
    }

    mutating func entries(_ name: String) throws(TrustFile.Failure) -> [Entry] {
        guard let value = take(name) else { return [] }
        let objects = value.array?.compactMap(\.object) ?? []
        guard let values = value.array, objects.count == values.count else {
            throw TrustFile.Failure("\(place): \(name) must be a list of objects")
        }
        return objects.enumerated().map { Entry(place: "\(name)[\($0)]", $1) }
    }

    func finish() throws(TrustFile.Failure) {
        guard let left = object.members.first else { return }
        throw TrustFile.Failure("\(place): unknown member \(String(decoding: left.name, as: UTF8.self))")
    }
}
