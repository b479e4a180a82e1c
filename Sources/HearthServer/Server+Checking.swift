import Glibc
import HearthAccess
import HearthAccountEndpoints
import HearthBackups
import HearthClusterNode
import HearthDatabaseHost
import HearthEventLoop
import HearthJSONTree
import HearthRealtimeSessions
import HearthSecurityRules
import HearthServerLog
import HearthSystem
import HearthTreeStorage
import HearthTriggers

/// Checks of a configuration and a data folder before a server starts.
extension Server {
    static func check(_ configuration: ServerConfiguration) throws(StartError) {
        if let folder = configuration.triggers.commandFolder, access(folder, X_OK) != 0 {
            throw .configuration("--trigger-commands: there is no folder \(folder)")
        }
        for address in [configuration.address, configuration.adminAddress, configuration.metricsAddress].compactMap({
            $0
        }) {
            guard !configuration.isDevelopment || address.isLoopback else {
                throw .configuration(
                    "development mode listens on loopback only (127.0.0.1, ::1), as it takes tokens at their word, "
                        + "not on \(address)")
            }
        }
        // A folder that is not there yet has no rules, and need not be made to find that out.
        let mayHaveRules = configuration.rulesFile != nil || access(configuration.dataFolder, F_OK) == 0
        guard configuration.isDevelopment || mayHaveRules else { throw withoutRules }
        if configuration.archive != nil, configuration.durability == .memory {
            throw .configuration("--archive needs data on disk, which --durability memory does not keep")
        }
        try checkCluster(configuration)
        let names = [configuration.defaultDatabase] + configuration.databaseNames.names.sorted()
        if let name = names.first(where: { !DatabaseName.isValid($0) }) {
            throw .configuration("a database name has 1 to 64 letters, digits, - and _, unlike '\(name)'")
        }
    }

    /// The initial JSON of the default database.
    static func readSeed(_ path: String) throws(StartError) -> CanonicalJSON {
        guard let text = FileBytes.read(path) else { throw .configuration("cannot read the seed file \(path)") }
        do throws(JSONError) { return try CanonicalJSON.parse(text).value } catch {
            let (line, column) = error.position(in: text)
            throw .configuration("\(path):\(line):\(column): \(error)")
        }
    }

    /// Data of development mode does not get into production by mistake.
    static func check(_ mark: DevelopmentMark, _ configuration: ServerConfiguration, _ log: Log) throws {
        if configuration.isDevelopment { return try mark.set() }
        guard mark.isSet else { return }
        guard configuration.adoptsDevelopmentData else {
            throw StartError.configuration(
                "\(configuration.dataFolder) was written by --dev, where anybody could plant accounts, rules and data: "
                    + "use another --data folder, or take this one over with --adopt-dev-data")
        }
        try mark.remove()
        log.warning("data.adopted", [("folder", configuration.dataFolder), ("written-by", "development mode")])
    }

    /// Settings that are safe only if chosen deliberately.
    static func warn(_ folder: DataFolder, _ configuration: ServerConfiguration, _ log: Log) {
        var status = stat()
        if stat(folder.path, &status) == 0, status.st_mode & 0o077 != 0 {
            let mode = String(status.st_mode & 0o777, radix: 8)
            log.warning("data.folder-open", [("folder", folder.path), ("mode", mode), ("advice", "chmod 700")])
        }
        let isPlain = configuration.tls == nil && configuration.trustedProxies.isEmpty
        if configuration.identity != nil, isPlain, !configuration.address.isLoopback {
            log.warning(
                "accounts.unencrypted",
                [
                    ("address", "\(configuration.address)"),
                    (
                        "meaning",
                        "passwords and tokens travel in the clear: --tls-cert, or a proxy with TLS (--trusted-proxy)"
                    ),
                ])
        }
    }

    private static func checkCluster(_ configuration: ServerConfiguration) throws(StartError) {
        guard let cluster = configuration.cluster else { return }
        guard NodeName.isValid(cluster.node) else {
            throw .configuration("--node must have 1 to 64 letters, digits, -, _ and ., unlike '\(cluster.node)'")
        }
        if let peers = cluster.peers, peers.reachableAddress.isUnspecified {
            let option = peers.publicAddress == nil ? "--peer-listen" : "--peer-address"
            throw .configuration(
                "\(option) names the address at which other nodes find this one, so it must be one of its own, "
                    + "not \(peers.reachableAddress)")
        }
        guard configuration.durability == .full else {
            throw .configuration("a node of a cluster keeps what it says it has: --durability full")
        }
        guard configuration.identity == nil || cluster.peers != nil else {
            throw .configuration("nodes share accounts if they reach each other: add --peer-listen, or --no-auth")
        }
        guard cluster.stores.count == 1 || cluster.peers != nil else {
            throw .configuration("several etcd clusters need nodes that reach each other: add --peer-listen")
        }
        if configuration.seedFile != nil {
            throw .configuration("--seed is for a server that is alone: import the file with 'hearth import' instead")
        }
        if configuration.databaseNames.creation == .byEverybody {
            throw .configuration("all nodes of a cluster have the same databases: name them with --databases")
        }
    }

    private static let withoutRules = StartError.configuration(
        "without rules nobody may do anything: add --dev to develop, or --rules FILE")

    /// Outside of development, somebody must have decided on permissions.
    static func check(_ rules: RulesInForce, _ configuration: ServerConfiguration) throws(StartError) {
        if configuration.isDevelopment { return }
        guard rules.file != nil || !rules.databasesWithOwn.isEmpty else {
            throw withoutRules
        }
        let open = rules.openRules
        guard open.isEmpty || configuration.address.isLoopback || configuration.allowsOpenRules else {
            throw .configuration(
                "\(open.joined(separator: ", ")): these rules let everybody read or write everything, and "
                    + "\(configuration.address) can be reached from elsewhere; --allow-open-rules if that is meant")
        }
    }
}
