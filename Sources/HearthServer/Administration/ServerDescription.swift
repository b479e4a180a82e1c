import TreeStorage
import Identity
import JSONWebTokens
import DatabaseScheduler

extension Services {
    /// How the server was started, for administrators. No secrets.
    var description: JSONObject {
        let configuration = configuration
        let limits = configuration.databaseLimits
        return JSONObject([
            "mode": .text(configuration.isDevelopment ? "development" : "production"),
            "version": .text(Version.current), "startedAt": .integer(startedAt),
            "database": .text(directory.defaultName),
            "project": .text(identity?.accounts.projects.current ?? configuration.project),
            "options": .object(
                JSONObject([
                    "listen": .text("\(configuration.address)"),
                    "admin-listen": configuration.adminAddress.map { .text("\($0)") } ?? .text("public"),
                    "data": .text(configuration.dataFolder),
                    "durability": .text(configuration.durability.rawValue),
                    "rules": configuration.rulesFile.map { .text($0) },
                    "tls": .bool(configuration.tls != nil),
                    "tls-cert": configuration.tls.map { .text($0.certificate) },
                    "auth": .bool(configuration.identity != nil),
                    "allow-open-rules": .bool(configuration.allowsOpenRules),
                    "allow-new-databases": .bool(
                        configuration.databaseNames.allowsNew || configuration.isDevelopment),
                    "databases-max": .integer(Int64(configuration.databaseNames.writtenMax)),
                    "compress": .bool(configuration.compresses),
                    "advertise": configuration.advertisedHost.map { .text($0) },
                    "trust": configuration.trustFile.map { .text($0) },
                    "history-hours": .integer(limits.logWindowMilliseconds / 3_600_000),
                    "history-mib": .integer(limits.logBytesMax >> 20),
                    "listeners-max": .integer(Int64(limits.listenersMax)),
                    "snapshots-max": .integer(Int64(configuration.snapshotLimits.openMax)),
                    "connections-max": .integer(Int64(configuration.connectionsMax)),
                    "address-connections-max": .integer(
                        Int64(configuration.connectionLimits.connectionsPerClientMax)),
                    "request-mib-max": .integer(Int64(requestMemory.bytesMax) >> 20),
                    "send-mib-max": .integer(Int64(configuration.outboundBytesTotalMax) >> 20),
                ])),
        ])
    }
}
