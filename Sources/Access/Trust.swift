package import HearthIdentity
package import HearthJSONWebTokens
import HearthSystem

/// The keys of a server and its trusted issuers, shared by the database and the accounts.
package struct Trust: Sendable {
    package let mode: TokenAuthority.Mode
    package let serviceAccounts: ServiceAccounts
    /// Whose users may sign in to accounts here.
    package let providers: ProviderDirectory
    package let verifier: TokenVerifier

    /// Nil in development mode, where tokens are not signed.
    package var keys: KeyStore? { if case .production(let keys) = mode { keys } else { nil } }

    /// Its settings when a server starts.
    package struct Configuration: Sendable {
        /// The data folder, which has the server's own keys.
        package var folder: String
        package var isDevelopment: Bool
        /// The project whose users sign in here: the audience of tokens.
        package var project: String
        /// The file of issuers and providers that are believed.
        package var trustFile: String?
        /// The file of the secrets that old SDKs use.
        package var legacySecretFile: String?

        package init(
            folder: String, isDevelopment: Bool, project: String, trustFile: String?, legacySecretFile: String?
        ) {
            self.folder = folder
            self.isDevelopment = isDevelopment
            self.project = project
            self.trustFile = trustFile
            self.legacySecretFile = legacySecretFile
        }
    }

    /// A file that was named cannot be used.
    package struct LoadError: Error {
        /// One line for people.
        package let message: String
    }

    /// Throws a ``LoadError``, or a `KeyStoreError` if the server's own keys cannot be read.
    ///
    /// - parameters:
    ///   - fetcher: gets the keys of those in the trust file.
    ///   - providerFetcher: gets those of the providers that administrators set up while the server runs.
    package init(
        _ configuration: Configuration, fetcher: any DocumentFetcher, providerFetcher: any DocumentFetcher
    ) throws {
        let now = WallClock.milliseconds / 1000
        let folder = configuration.folder
        mode = configuration.isDevelopment ? .development : .production(try KeyStore(folder: folder, now: now))
        serviceAccounts = try ServiceAccounts(folder: folder)
        let (file, legacySecrets) = try Self.files(configuration, fetcher)
        providers = try ProviderDirectory(
            folder: folder, fixed: file?.providers ?? IdentityProviders([]), fetcher: providerFetcher)
        verifier = TokenVerifier(
            authority: TokenAuthority(project: configuration.project, mode: mode), accounts: serviceAccounts,
            issuers: file?.issuers ?? [], legacySecrets: legacySecrets)
    }

    /// Reads the files that the operator names, and throws if one is invalid. Fetches nothing.
    package static func check(_ configuration: Configuration, fetcher: any DocumentFetcher) throws(LoadError) {
        _ = try files(configuration, fetcher)
    }

    private static func files(
        _ configuration: Configuration, _ fetcher: any DocumentFetcher
    ) throws(LoadError) -> (trust: TrustFile?, secrets: LegacySecrets?) {
        let trust = try configuration.trustFile.map { (path) throws(LoadError) in try read(path, fetcher) }
        let secrets = try configuration.legacySecretFile.map { (path) throws(LoadError) in
            do throws(LegacySecrets.Failure) { return try LegacySecrets(file: path) } catch {
                throw LoadError(message: error.description)
            }
        }
        return (trust, secrets)
    }

    private static func read(_ path: String, _ fetcher: any DocumentFetcher) throws(LoadError) -> TrustFile {
        guard let text = FileBytes.read(path) else {
            throw LoadError(message: "cannot read \(path), the file of whom to trust")
        }
        do throws(TrustFile.Failure) {
            return try TrustFile(text, fetcher: fetcher, readFile: FileBytes.read)
        } catch { throw LoadError(message: "\(path): \(error)") }
    }
}
