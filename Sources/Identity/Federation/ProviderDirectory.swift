import HearthJSONValues
package import HearthJSONWebTokens
import Synchronization
import HearthSystem

/// The providers whose users may sign in: those of the trust file, in all realms, and OpenID providers that
/// administrators have set up in a realm, which are kept in a file of the data folder. Where both have an id, the trust
/// file wins. Any thread; changes wait for the disk.
package final class ProviderDirectory: Sendable {
    private struct Entry {
        var configuration: OpenIDConfiguration
        var provider: IdentityProviders
    }

    package enum Standing: Sendable {
        case unknown
        /// It is set up, but switched off.
        case disabled
        case enabled(IdentityProviders)
    }

    package enum Failure: Error, Hashable, Sendable {
        case exists
        case unknown
        /// It is in the trust file, which only the operator changes.
        case fixed
        /// Of a realm, or for the file.
        case tooMany
        /// For people.
        case file(String)
    }

    /// Of a realm.
    package static let configurationsMax = 100

    private let fixed: IdentityProviders
    private let fetcher: any DocumentFetcher
    private let path: String
    private let realms: Mutex<[String: [String: Entry]]>

    /// Reads the documents in `folder`, which may be empty.
    package init(
        folder: String, fixed: IdentityProviders = IdentityProviders([]), fetcher: any DocumentFetcher
    ) throws(KeyStoreError) {
        self.fixed = fixed
        self.fetcher = fetcher
        path = folder + "/openid-providers.json"
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch { throw .file(error) }
        var realms: [String: [String: Entry]] = [:]
        if let text { realms = try Self.entries(text, path, fetcher) }
        self.realms = Mutex(realms)
    }

    private static func entries(
        _ text: [UInt8], _ path: String, _ fetcher: any DocumentFetcher
    ) throws(KeyStoreError) -> [String: [String: Entry]] {
        guard let kept = (try? JSONValue(parsing: text))?.object else { throw .damaged(path: path) }
        var realms: [String: [String: Entry]] = [:]
        for realm in kept.members {
            for member in realm.value.object?.members ?? [] {
                let id = String(decoding: member.name, as: UTF8.self)
                guard let members = member.value.object,
                    let configuration = OpenIDConfiguration(id: id, members: members)
                else { throw .damaged(path: path) }
                let entry = Entry(configuration: configuration, provider: provider(configuration, fetcher))
                realms[String(decoding: realm.name, as: UTF8.self), default: [:]][id] = entry
            }
        }
        return realms
    }

    // MARK: Other nodes

    /// The present file; nil if it does not exist.
    package var fileText: [UInt8]? { (try? PrivateFile.read(path)) ?? nil }

    /// Takes over the providers that another node has, instead of its own.
    package func adopt(_ text: [UInt8]) throws(KeyStoreError) {
        let read = try Self.entries(text, path, fetcher)
        try realms.withLock { (realms) throws(KeyStoreError) in
            do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: text) } catch { throw .file(error) }
            realms = read
        }
    }

    private static func provider(
        _ configuration: OpenIDConfiguration, _ fetcher: any DocumentFetcher
    ) -> IdentityProviders {
        let provider = OpenIDProvider.discovered(
            id: configuration.id, issuer: configuration.issuer, clientIDs: [configuration.clientID], fetcher: fetcher)
        return IdentityProviders([(configuration.id, .openID(provider))])
    }

    // MARK: Reading

    package func standing(of id: String, in realm: Realm) -> Standing {
        if fixed.contains(id) { return .enabled(fixed) }
        guard let entry = realms.withLock({ $0[realm.key]?[id] }) else { return .unknown }
        return entry.configuration.isEnabled ? .enabled(entry.provider) : .disabled
    }

    /// The OpenID providers of a realm by ascending id.
    package func configurations(in realm: Realm) -> [OpenIDConfiguration] {
        let own = realms.withLock { $0[realm.key] ?? [:] }.values.map(\.configuration)
        return (fixed.configurations + own.filter { !fixed.contains($0.id) }).sorted { $0.id < $1.id }
    }

    package func configuration(_ id: String, in realm: Realm) throws(Failure) -> OpenIDConfiguration {
        guard let found = configurations(in: realm).first(where: { $0.id == id }) else { throw .unknown }
        return found
    }

    // MARK: Changing

    package func create(_ configuration: OpenIDConfiguration, in realm: Realm) throws(Failure) {
        try change(realm, configuration.id) { (entries) throws(Failure) in
            guard entries[configuration.id] == nil else { throw .exists }
            guard entries.count < Self.configurationsMax else { throw .tooMany }
            entries[configuration.id] = Entry(
                configuration: configuration, provider: Self.provider(configuration, fetcher))
        }
    }

    /// Replaces the configuration of an id that there is.
    package func update(_ configuration: OpenIDConfiguration, in realm: Realm) throws(Failure) {
        try change(realm, configuration.id) { (entries) throws(Failure) in
            guard let old = entries[configuration.id] else { throw .unknown }
            // The keys that it has fetched stay.
            let provider =
                configuration.isSameProvider(as: old.configuration)
                ? old.provider : Self.provider(configuration, fetcher)
            entries[configuration.id] = Entry(configuration: configuration, provider: provider)
        }
    }

    package func delete(_ id: String, in realm: Realm) throws(Failure) {
        try change(realm, id) { (entries) throws(Failure) in
            guard entries.removeValue(forKey: id) != nil else { throw .unknown }
        }
    }

    /// Changes the entries of a realm, once the file says so.
    private func change(
        _ realm: Realm, _ id: String, _ body: (inout [String: Entry]) throws(Failure) -> Void
    ) throws(Failure) {
        if fixed.contains(id) { throw .fixed }
        try realms.withLock { (realms) throws(Failure) in
            var changed = realms
            try body(&changed[realm.key, default: [:]])
            if changed[realm.key]?.isEmpty == true { changed[realm.key] = nil }
            let text = Self.text(of: changed)
            guard text.count <= PrivateFile.byteCountMax else { throw .tooMany }
            do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: text) } catch {
                throw .file(error.description)
            }
            realms = changed
        }
    }

    private static func text(of realms: [String: [String: Entry]]) -> [UInt8] {
        var file = JSONObject()
        for (realm, entries) in realms.sorted(by: { $0.key < $1.key }) {
            var members = JSONObject()
            for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
                members[id] = .object(entry.configuration.members)
            }
            file[realm] = .object(members)
        }
        return file.bytes
    }
}

extension IdentityProviders {
    /// The OpenID providers that the API knows, as it shows them.
    fileprivate var configurations: [OpenIDConfiguration] {
        openIDProviders.compactMap { provider in
            guard provider.id.hasPrefix(OpenIDConfiguration.idPrefix), let issuer = provider.issuers.first,
                let clientID = provider.clientIDs.first
            else { return nil }
            var configuration = OpenIDConfiguration(id: provider.id, clientID: clientID, issuer: issuer)
            configuration.isEnabled = true
            configuration.isFixed = true
            return configuration
        }
    }
}
