import ClusterNode
import DatabaseScheduler
import Identity
import JSONWebTokens
import TreeStorage

extension Services {
    /// How the server was started, for administrators. No secrets.
    var description: JSONObject {
        JSONObject([
            "mode": .text(configuration.isDevelopment ? "development" : "production"),
            "version": .text(Version.current), "startedAt": .integer(startedAt),
            "database": .text(directory.defaultName),
            "project": .text(identity?.accounts.projects.current ?? configuration.project),
            "options": .object(options),
        ])
    }

    /// The options in force, by the names that `hearth serve` gives them. Those that are off are missing.
    private var options: JSONObject {
        places.merging(access).merging(operation).merging(limits)
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
            "data": .text(configuration.dataFolder),
            "durability": .text(configuration.durability.rawValue),
            "databases": names.names.isEmpty ? nil : .text(names.names.sorted().joined(separator: ",")),
            "allow-new-databases": .bool(names.allowsNew || configuration.isDevelopment),
            "cluster": cluster.map { .text($0.members.map { "\($0)" }.joined(separator: ",")) },
            "node": cluster.map { .text($0.node) },
            "peer-listen": cluster?.peers.map { .text("\($0.address)") },
        ])
    }

    private var access: JSONObject {
        let identity = configuration.identity
        return JSONObject([
            "rules": configuration.rulesFile.map { .text($0) },
            "settings": configuration.settingsFile.map { .text($0) },
            "allow-open-rules": .bool(configuration.allowsOpenRules),
            "trust": configuration.trustFile.map { .text($0) },
            "auth": .bool(identity != nil),
            "auth-url": identity?.publicURL.map { .text($0) },
            "token-url": identity?.tokenURL.map { .text($0) },
            "auth-domains": identity.map { .text($0.authorizedDomains.sorted().joined(separator: ",")) },
        ])
    }

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
        ])
    }

    private var limits: JSONObject {
        let limits = configuration.databaseLimits
        return JSONObject([
            "databases-max": .integer(Int64(configuration.databaseNames.writtenMax)),
            "history-hours": .integer(limits.logWindowMilliseconds / 3_600_000),
            "history-mib": .integer(limits.logBytesMax >> 20),
            "listeners-max": .integer(Int64(limits.listenersMax)),
            "snapshots-max": .integer(Int64(configuration.snapshotLimits.openMax)),
            "connections-max": .integer(Int64(configuration.connectionsMax)),
            "address-connections-max": .integer(
                Int64(configuration.connectionLimits.connectionsPerClientMax)),
            "request-mib-max": .integer(Int64(requestMemory.bytesMax) >> 20),
            "send-mib-max": .integer(Int64(configuration.outboundBytesTotalMax) >> 20),
        ])
    }
}
