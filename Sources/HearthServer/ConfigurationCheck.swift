import HearthAccess
import HearthClusterNode
import HearthDatabaseHost
import HearthEtcdGateway
import HearthEventLoop
import HearthFetching
import Glibc
import HearthIdentity
import HearthSecurityRules
import HearthStorageErrors
import HearthSystem
import HearthTreeStorage
import HearthBackups
import HearthRealtimeSessions

/// Finds problems that would keep a server from starting, and questionable settings, without changing anything: for
/// `hearth serve --check`.
package struct ConfigurationCheck: Sendable {
    package struct Finding: Equatable, Sendable {
        package enum Severity: String, Sendable {
            case error, warning
        }

        package var severity: Severity
        package var text: String
    }

    package private(set) var findings: [Finding] = []
    private let configuration: ServerConfiguration

    /// A certificate that ends sooner than this is worth a warning.
    private static let certificateDaysMin: Int64 = 14

    package init(_ configuration: ServerConfiguration, now: Int64 = WallClock.milliseconds / 1000) {
        self.configuration = configuration
        checkStart()
        checkRules()
        checkFiles()
        checkCertificate(now: now)
        checkFolder()
        checkArchive()
        checkAddresses()
        checkCluster()
        checkLibraries()
    }

    package var hasErrors: Bool { findings.contains { $0.severity == .error } }

    private mutating func error(_ text: String) { findings.append(Finding(severity: .error, text: text)) }

    private mutating func warn(_ text: String) { findings.append(Finding(severity: .warning, text: text)) }

    /// Requests that the server would refuse at once.
    private mutating func checkStart() {
        do throws(Server.StartError) { try Server.check(configuration) } catch { self.error(error.message) }
    }

    private mutating func checkCluster() {
        if let security = configuration.cluster?.security {
            do throws(TLSError) { _ = (try security.client(), try security.server()) } catch { self.error("\(error)") }
            return
        }
        for member in configuration.cluster?.stores.flatMap(\.members) ?? []
        where !["127.0.0.1", "::1", "localhost"].contains(member.host) {
            warn("\(member): connections to etcd are not encrypted, and it has all data")
        }
        if let address = configuration.cluster?.peers?.address, !address.isLoopback {
            warn("\(address): connections between nodes are not encrypted, and carry all that clients write")
        }
    }

    private mutating func checkLibraries() {
        guard let problem = FetchLibrary.problem else { return }
        warn("\(problem): events to addresses, mails to relays and keys of identity providers need it")
    }

    private mutating func checkRules() {
        var programs: [(file: String, program: RulesProgram)] = []
        let contents = FolderContents(configuration.dataFolder)
        let own = contents.rulesFiles
        for file in [configuration.rulesFile].compactMap({ $0 }) + own {
            do throws(RulesInForce.LoadError) { programs.append((file, try RulesInForce.read(file))) } catch {
                self.error(error.message)
            }
        }
        for file in [configuration.settingsFile].compactMap({ $0 }) + contents.settingsFiles {
            do throws(RulesInForce.LoadError) { _ = try RulesInForce.settings(file) } catch {
                self.error(error.message)
            }
        }
        let published = contents.publicationFiles
        for file in published {
            do throws(RulesInForce.LoadError) {
                let program = try RulesInForce.publication(file).rules
                // They are in force instead of those in the database's own file.
                let replaced = file.dropLast("publication".utf8.count) + "rules"
                programs.removeAll { $0.file == replaced }
                programs.append((file, program))
            } catch {
                self.error(error.message)
            }
        }
        if configuration.isDevelopment { return }
        if configuration.rulesFile == nil, own.isEmpty, published.isEmpty { error("there are no rules: --rules FILE") }
        for (file, program) in programs where program.isOpen && !configuration.allowsOpenRules {
            let text = "\(file): these rules let everybody read or write everything"
            if configuration.address.isLoopback { warn(text) } else { error(text) }
        }
    }

    private mutating func checkFiles() {
        let fetcher = HTTPSFetcher(Fetcher())
        do throws(Trust.LoadError) {
            try Trust.check(configuration.trust(in: configuration.dataFolder), fetcher: fetcher)
        } catch { self.error(error.message) }
        if let path = configuration.seedFile {
            do throws(Server.StartError) { _ = try Server.readSeed(path) } catch { self.error(error.message) }
        }
        if let path = configuration.auditFile { checkAuditFile(path) }
    }

    private mutating func checkAuditFile(_ path: String) {
        var status = stat()
        if stat(path, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFDIR { return error("--audit-log: \(path) is a folder") }
            if access(path, W_OK) != 0 { error("--audit-log: \(path) cannot be written") }
            return
        }
        let folder = Self.parent(of: path)
        if access(folder, F_OK) != 0 {
            // The unit makes this one at the start.
            if folder == "/var/log/hearth" { return warn("--audit-log: there is no folder \(folder) yet") }
            return error("--audit-log: there is no folder \(folder)")
        }
        if access(folder, W_OK | X_OK) != 0 { error("--audit-log: \(path) cannot be made in \(folder)") }
    }

    private mutating func checkCertificate(now: Int64) {
        guard let files = configuration.tls else {
            if !configuration.isDevelopment, !configuration.address.isLoopback,
                configuration.trustedProxies.isEmpty
            {
                warn(
                    "\(configuration.address) has no TLS: --tls-cert and --tls-key, or a proxy with TLS (--trusted-proxy)"
                )
            }
            return
        }
        do throws(TLSError) {
            let context = try TLSContext.server(certificateFile: files.certificate, keyFile: files.key)
            guard let expiry = context.expiry else { return }
            let days = (expiry - now) / 86_400
            if expiry <= now {
                self.error("the certificate \(files.certificate) ended on \(Timestamp(milliseconds: expiry * 1000))")
            } else if days < Self.certificateDaysMin {
                warn("the certificate \(files.certificate) ends in \(days) days")
            }
        } catch {
            self.error("\(error)")
        }
    }

    private mutating func checkArchive() {
        guard let folder = configuration.archive?.folder else { return }
        let path = access(folder, F_OK) == 0 ? folder : Self.parent(of: folder)
        if access(path, F_OK) != 0 { return error("--archive: \(folder) cannot be made: there is no folder \(path)") }
        if access(path, W_OK | X_OK) != 0 { error("--archive: \(folder) cannot be written") }
        var (archive, data) = (stat(), stat())
        if stat(path, &archive) == 0, stat(configuration.dataFolder, &data) == 0, archive.st_dev == data.st_dev {
            warn("the archive \(folder) is on the disk of the data folder: it does not survive the loss of that disk")
        }
    }

    private mutating func checkFolder() {
        let folder = configuration.dataFolder
        if configuration.durability == .memory { return }
        var status = stat()
        guard stat(folder, &status) == 0 else {
            let parent = Self.parent(of: folder)
            if access(parent, F_OK) != 0 {
                error("the data folder \(folder) cannot be made: there is no folder \(parent)")
            } else if access(parent, W_OK | X_OK) != 0 {
                error("the data folder \(folder) cannot be made in \(parent)")
            }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return error("the data folder \(folder) is not a folder") }
        if access(folder, R_OK | W_OK | X_OK) != 0 {
            error("the data folder \(folder) cannot be read and written: it belongs to the user \(status.st_uid)")
        }
        if status.st_mode & 0o077 != 0 {
            warn("others may look into the data folder \(folder): chmod 700 \(folder)")
        }
        do throws(StorageError) { try FolderContents(folder).requireWhole() } catch { self.error(error.message) }
        for file in FolderContents(folder).foreignFiles {
            error("\(folder)/\(file) belongs to another user than \(folder): chown it, or the server cannot open it")
        }
        if let space = DiskSpace(of: folder), space.available < configuration.freeBytesMin {
            error(
                "\(space.available >> 20) MiB are free where \(folder) is, less than --free-mib-min "
                    + "\(configuration.freeBytesMin >> 20)")
        }
    }

    private static func parent(of path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Tries to listen, unless a server has the folder, which then has the ports as well.
    private mutating func checkAddresses() {
        if FolderContents(configuration.dataFolder).isServed {
            return warn("a server runs on \(configuration.dataFolder): whether the ports are free was not tried")
        }
        let addresses = [
            configuration.address, configuration.adminAddress, configuration.metricsAddress,
            configuration.cluster?.peers?.address,
        ].compactMap { $0 }
        for (index, address) in addresses.enumerated() {
            if address.port != 0, addresses[..<index].contains(address) { error("\(address) is named twice") }
            do throws(SystemError) { try Listener.tryAddress(address) } catch { self.error("\(error)") }
        }
    }
}
