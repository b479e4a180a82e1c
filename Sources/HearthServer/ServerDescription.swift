import HearthClusterNode
import HearthDatabaseHost
import HearthDatabaseScheduler
import HearthDelivery
import HearthEventLoop
import HearthIdentity
import HearthJSONValues
import HearthServerLog
import HearthTreeStorage
import HearthTriggers
import HearthAccess
import HearthAccountEndpoints
import HearthBackups
import HearthSystem
import HearthRealtimeSessions

/// How the server was started, for administrators. No secrets.
struct ServerDescription: Sendable {
    let configuration: ServerConfiguration
    /// In milliseconds since 1970.
    let startedAt: Int64
    /// Nil if accounts are not served.
    let accounts: Accounts?
    let requestMemory: RequestMemory

    var json: JSONObject {
        JSONObject([
            "mode": .text(configuration.isDevelopment ? "development" : "production"),
            "version": .text(Version.current), "startedAt": .integer(startedAt),
            "database": .text(configuration.defaultDatabase),
            "project": .text(accounts?.projects.current ?? configuration.project),
            "options": .object(options),
        ])
    }

    /// The options in force, by the names that `hearth serve` gives them. Those that are off are missing.
    private var options: JSONObject {
        var options = places
        for part in [access, mail, operation, limits] { options.merge(part) }
        return options
    }

    private var places: JSONObject {
        let tls = configuration.tls
        let cluster = configuration.cluster
        let names = configuration.databaseNames
        return JSONObject([
            "listen": .text("\(configuration.address)"),
            "admin-listen": configuration.adminAddress.map { .text("\($0)") } ?? .text("public"),
            "metrics-listen": configuration.metricsAddress.map { .text("\($0)") },
            "advertise": configuration.advertisedHost.map { .text($0) },
            "trusted-proxy": configuration.trustedProxies.isEmpty ? nil : .text(configuration.trustedProxies.text),
            "tls": .bool(tls != nil), "tls-cert": tls.map { .text($0.certificate) },
            "tls-key": tls.map { .text($0.key) },
            "data": .text(configuration.dataFolder), "seed": configuration.seedFile.map { .text($0) },
            "durability": .text(configuration.durability.rawValue),
            "database": .text(configuration.defaultDatabase),
            "databases": names.names.isEmpty ? nil : .text(names.names.sorted().joined(separator: ",")),
            "allow-new-databases": .bool(names.creation == .byEverybody || configuration.isDevelopment),
            "cluster": cluster.map { .text($0.stores.text) },
            "node": cluster.map { .text($0.node) },
            "peer-listen": cluster?.peers.map { .text("\($0.address)") },
            "peer-address": cluster?.peers?.publicAddress.map { .text("\($0)") },
            "cluster-secret": cluster?.peers.map { _ in Self.isSet },
            "cluster-ca": cluster?.security.map { .text($0.authorityFile) },
            "cluster-cert": cluster?.security.map { .text($0.certificate.certificateFile) },
            "cluster-key": cluster?.security.map { .text($0.certificate.keyFile) },
            "dev-hosts": Self.text(configuration.developmentAccess.hostText),
            "dev-origins": Self.text(configuration.developmentAccess.originText),
            "console-folder": configuration.consoleFolder.map { .text($0) },
        ])
    }

    private var access: JSONObject {
        let identity = configuration.identity
        let options = identity?.options
        return JSONObject([
            "project": .text(configuration.learnsProjects ? "any" : configuration.project),
            "rules": configuration.rulesFile.map { .text($0) },
            "settings": configuration.settingsFile.map { .text($0) },
            "allow-open-rules": .bool(configuration.allowsOpenRules),
            "trust": configuration.trustFile.map { .text($0) },
            "auth": .bool(identity != nil),
            "auth-url": identity?.publicURL.map { .text($0) },
            "token-url": identity?.tokenURL.map { .text($0) },
            "auth-domains": identity.map { .text($0.authorizedDomains.sorted().joined(separator: ",")) },
            "auth-address-max": options.map { .integer(Int64($0.attemptsPerAddressMax)) },
            "api-keys": identity?.apiKeys.map { .text($0.sorted().joined(separator: ",")) },
            "tenants": Self.text(options?.tenants.sorted().joined(separator: ",") ?? ""),
            "legacy-secret-file": configuration.legacySecretFile.map { .text($0) },
        ])
    }

    /// How mails are sent. A command may have secrets among its words.
    private var mail: JSONObject {
        switch configuration.identity?.delivery {
        case .command: JSONObject(["mail-command": Self.isSet])
        case .relay(let relay):
            JSONObject([
                "smtp": .text("\(relay.usesTLS ? "smtps://" : "")\(relay.host):\(relay.port)"),
                "smtp-user": relay.credentials.map { .text($0.user) },
                "smtp-password-file": relay.credentials.map { _ in Self.isSet },
                "mail-from": .text(relay.sender),
            ])
        case .log?, .none?, nil: JSONObject([:])
        }
    }

    /// A placeholder for hidden values.
    private static let isSet = JSONValue.text("set")

    private static func text(_ list: String) -> JSONValue? { list.isEmpty ? nil : .text(list) }

    private var operation: JSONObject {
        let archive = configuration.archive
        return JSONObject([
            "archive": archive.map { .text($0.folder) },
            "archive-seconds": archive.map { .integer($0.interval.components.seconds) },
            "archive-days": archive.map { .integer($0.settings.window / 86_400_000) },
            "free-mib-min": .integer(configuration.freeBytesMin >> 20),
            "drain-seconds": .integer(configuration.drainTime.components.seconds),
            "log-level": .text(configuration.logLevel.name),
            "log-format": .text(configuration.logFormat.rawValue),
            "audit-log": configuration.auditFile.map { .text($0) },
            "slow-ms": configuration.slowRequest.map { .integer(Int64($0 / .milliseconds(1))) },
            "compress": .bool(configuration.compresses),
            "trigger-networks": Self.text(configuration.triggers.networks.text),
            "trigger-commands": configuration.triggers.commandFolder.map { .text($0) },
            "trigger-ca": authorities.map { .text($0) },
        ])
    }

    private var authorities: String? {
        if case .file(let path) = configuration.triggers.authorities { path } else { nil }
    }

    private var limits: JSONObject {
        let limits = configuration.databaseLimits
        return JSONObject([
            "databases-max": .integer(Int64(configuration.databaseNames.writtenMax)),
            "history-hours": .integer(limits.logWindowMilliseconds / 3_600_000),
            "history-mib": .integer(limits.logBytesMax >> 20),
            "listeners-max": .integer(Int64(limits.listenersMax)),
            "snapshots-max": .integer(Int64(configuration.snapshotLimits.openMax)),
            "loops": .integer(Int64(configuration.loops ?? EventLoopGroup.availableCPUCount)),
            "connections-max": .integer(Int64(configuration.connectionsMax)),
            "address-connections-max": .integer(
                Int64(configuration.connectionLimits.connectionsPerClientMax)),
            "request-mib-max": .integer(Int64(requestMemory.bytesMax) >> 20),
            "send-mib-max": .integer(Int64(configuration.outboundBytesTotalMax) >> 20),
            "page-cache-mib": .integer(Int64(configuration.pageBytesMax) >> 20),
        ])
    }
}
