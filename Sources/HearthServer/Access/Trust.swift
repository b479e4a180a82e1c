import HearthIdentity
import HearthJSONWebTokens
import HearthSystem
import HearthTreeStorage

/// The keys of a server, and whom it believes: what the database and the accounts share.
struct Trust: Sendable {
    let mode: TokenAuthority.Mode
    let serviceAccounts: ServiceAccounts
    /// Whose users may sign in to accounts here.
    let providers: ProviderDirectory
    let verifier: TokenVerifier

    /// Nil in development mode, where tokens are not signed.
    var keys: KeyStore? { if case .production(let keys) = mode { keys } else { nil } }

    /// - parameter fetcher: gets the keys of others.
    init(
        _ configuration: ServerConfiguration, _ folder: DataFolder, fetcher: any DocumentFetcher
    ) throws {
        let now = WallClock.milliseconds / 1000
        mode = configuration.isDevelopment ? .development : .production(try KeyStore(folder: folder.path, now: now))
        serviceAccounts = try ServiceAccounts(folder: folder.path)
        let file = try configuration.trustFile.map { try Self.read($0, fetcher) }
        providers = try ProviderDirectory(
            folder: folder.path, fixed: file?.providers ?? IdentityProviders([]), fetcher: fetcher)
        let legacySecrets = try configuration.legacySecretFile.map {
            (path) throws(Server.StartError) in
            do throws(LegacySecrets.Failure) { return try LegacySecrets(file: path) } catch {
                throw .configuration(error.description)
            }
        }
        verifier = TokenVerifier(
            authority: TokenAuthority(project: configuration.project, mode: mode), accounts: serviceAccounts,
            issuers: file?.issuers ?? [], legacySecrets: legacySecrets)
    }

    private static func read(_ path: String, _ fetcher: any DocumentFetcher) throws(Server.StartError) -> TrustFile {
        guard let text = FileBytes.read(path) else {
            throw .configuration("cannot read \(path), the file of whom to trust")
        }
        do throws(TrustFile.Failure) {
            return try TrustFile(text, fetcher: fetcher, readFile: FileBytes.read)
        } catch { throw .configuration("\(path): \(error)") }
    }
}
