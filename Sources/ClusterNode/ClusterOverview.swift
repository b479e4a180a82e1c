package import HearthEtcdGateway
package import HearthEtcdMessages
package import HearthEventLoop
package import HearthJSONValues
import HearthReplicatedLog

/// The members, nodes and databases of a cluster as etcd has them, for operators. Asks no node.
package struct ClusterOverview: Sendable {
    private let tls: TLSContext?
    private var members: [(member: EtcdMember, state: Result<EtcdStatus.Reply, EtcdError>)] = []
    /// Nil for records of unknown versions.
    private var nodes: [(name: String, record: NodeRecord?)] = []
    /// The nodes that a node does not reach, in order.
    private var unreached: [String: [String]] = [:]
    private var logs: [(database: String, log: LogOverview?)] = []
    /// Nil if every node holds everything.
    private var placement: ClusterMembers?
    private var areMembersDamaged = false
    private var format: FormatOverview?

    private static let callDuration = Duration.seconds(3)

    /// Asks all members, one after the other. Waits. ``read()`` comes next.
    ///
    /// - parameter tls: a client's; nil for connections that are not encrypted.
    package init(_ members: [EtcdMember], tls: TLSContext? = nil) {
        self.tls = tls
        for member in members {
            let client = EtcdClient(EtcdCluster([member], tls: tls))
            self.members.append(
                (member, Result { () throws(EtcdError) in try client.call(EtcdStatus(), within: Self.callDuration) }))
        }
    }

    /// Reads what etcd has of nodes and databases.
    package mutating func read() throws(EtcdError) {
        let client = EtcdClient(EtcdCluster(members.map(\.member), tls: tls))
        nodes = try client.call(EtcdRange(NodeRecord.folder), within: Self.callDuration).values.map {
            (NodeRecord.name(of: $0.key), NodeRecord($0.value))
        }
        let statements = try client.call(EtcdRange(UnreachedNodes.folder), within: Self.callDuration).values
        let running = Set(nodes.map(\.name))
        unreached = UnreachedNodes.statements(in: statements).mapValues { $0.names.intersection(running).sorted() }
        let document = try client.call(EtcdRange(.key(ClusterMembers.key)), within: Self.callDuration).values.first
        placement = document.flatMap { ClusterMembers($0.value) }
        areMembersDamaged = document != nil && placement == nil
        format = FormatOverview(try client.call(FormatOverview.request, within: Self.callDuration))
        logs = []
        while let key = try client.call(
            LogKeys.nextDatabase(after: logs.last?.database), within: Self.callDuration
        ).values.first?.key, let database = LogKeys.database(of: key) {
            let reply = try client.call(LogOverview.request(database), within: Self.callDuration)
            logs.append((database, LogOverview(database, reply)))
        }
    }

    /// Lines for people.
    package var lines: [String] {
        var lines = ["etcd"]
        for (member, state) in members {
            switch state {
            case .success(let status):
                let leads = status.leader == status.member ? ", leads" : ""
                lines.append("  \(member)  version \(status.version)\(leads), \(status.usedBytes >> 20) MiB in use")
            case .failure(let error): lines.append("  \(member)  \(error)")
            }
        }
        if let format {
            let isBehind = format.possible.map { $0 > format.format } ?? false
            let advice = isBehind ? ", and all nodes read a later one: see 'hearth cluster upgrade'" : ""
            lines.append("  format \(format.format.rawValue)\(advice)")
        }
        lines.append("nodes")
        for (name, record) in nodes {
            guard let record else {
                lines.append("  \(name)  of a version that is not known here")
                continue
            }
            let reads = format?.nodes[name].map { $0 < .latest ? ", reads format \($0.rawValue)" : "" } ?? ""
            lines.append(
                "  \(name)  clients at \(record.address), nodes at \(record.peerAddress ?? "no address")\(reads)")
            for other in unreached[name] ?? [] { lines.append("    does not reach \(other)") }
        }
        if let placement {
            lines.append("members")
            for name in placement.names {
                let state = placement.isDraining(name) ? "draining" : "member"
                let isAway = nodes.contains { $0.name == name } ? "" : ", does not run"
                let count = logs.count { placement.holders(of: $0.database)?.contains(name) ?? false }
                lines.append("  \(name)  \(state)\(isAway), holds \(count) databases")
            }
            for (name, _) in nodes where placement.states[name] == nil { lines.append("  \(name)  not a member yet") }
        }
        lines.append("databases")
        for (database, log) in logs {
            guard let log else {
                lines.append("  \(database)  damaged, or of a version that is not known here")
                continue
            }
            let last = log.head?.lastSequence ?? 0
            let range = last < log.floor ? "none in etcd" : "\(log.floor) to \(last) in etcd"
            lines.append("  \(database)  owner \(log.owner ?? "none"), last commit \(last), \(range)")
            guard let holders = placement?.holders(of: database) else {
                for (node, sequence) in log.kept.sorted(by: { $0.key < $1.key }) {
                    lines.append("    \(node)  has \(sequence) on disk")
                }
                continue
            }
            let others = Set(log.kept.keys).union(log.held.filter { $0.value != .nothing }.keys).subtracting(holders)
            for node in holders + others.sorted() {
                let role = holders.contains(node) ? "holds it" : "follows it"
                lines.append("    \(node)  \(role), \(Self.files(log.held[node], log.kept[node]))")
            }
        }
        return lines
    }

    private static func files(_ held: HeldFiles?, _ kept: UInt64?) -> String {
        switch held {
        case .through(_, let sequence): "has \(sequence) on disk"
        case .copying: "is copying another node's files"
        case .nothing: "has no files"
        // One of an earlier version does not say.
        case nil: kept.map { "has \($0) on disk" } ?? "has not said what it has"
        }
    }

    /// The same for programs.
    package var json: JSONObject {
        let members = members.map { (member, state) in
            var json = JSONObject(["address": .text("\(member)")])
            switch state {
            case .success(let status):
                json["version"] = .text("\(status.version)")
                json["leads"] = .bool(status.leader == status.member)
                json["bytes"] = .integer(Int64(clamping: status.usedBytes))
            case .failure(let error): json["error"] = .text("\(error)")
            }
            return JSONValue.object(json)
        }
        let nodes = nodes.map { (name, record) in
            JSONValue.object(
                JSONObject([
                    "name": .text(name), "address": record.map { .text("\($0.address)") },
                    "peerAddress": record?.peerAddress.map { .text("\($0)") },
                    "reads": format?.nodes[name].map { .integer(Int64($0.rawValue)) },
                    "unreached": .array((unreached[name] ?? []).map { .text($0) }),
                ]))
        }
        let databases = logs.map { (database, log) in
            var json = JSONObject(["name": .text(database), "owner": log?.owner.map { .text($0) }])
            guard let log else { return JSONValue.object(json) }
            json["last"] = .integer(Int64(clamping: log.head?.lastSequence ?? 0))
            json["first"] = .integer(Int64(clamping: log.floor))
            var kept = JSONObject()
            for (node, sequence) in log.kept.sorted(by: { $0.key < $1.key }) {
                kept[node] = .integer(Int64(clamping: sequence))
            }
            json["onDisk"] = .object(kept)
            if let holders = placement?.holders(of: database) {
                json["holders"] = .array(holders.map { .text($0) })
                json["copying"] = .array(
                    log.held.filter { $0.value == .copying }.keys.sorted().map { .text($0) })
            }
            return .object(json)
        }
        var json = JSONObject(["members": .array(members), "nodes": .array(nodes), "databases": .array(databases)])
        if let format {
            json["format"] = .integer(Int64(format.format.rawValue))
            json["readByAll"] = format.possible.map { .integer(Int64($0.rawValue)) }
        }
        guard let placement else { return json }
        json["placement"] = .array(
            placement.names.map { name in
                .object(JSONObject(["node": .text(name), "drains": .bool(placement.isDraining(name))]))
            })
        return json
    }

    /// Problems for an operator: one line each.
    package var problems: [String] {
        var problems: [String] = []
        for case (let member, .failure(let error)) in members { problems.append("etcd at \(member): \(error)") }
        if nodes.isEmpty {
            problems.append("no node runs")
        } else if logs.isEmpty {
            problems.append("no database has begun")
        }
        for (name, record) in nodes {
            for other in unreached[name] ?? [] {
                problems.append("the node '\(name)' does not reach the node '\(other)'")
            }
            if record == nil { problems.append("the node '\(name)' runs a version that is not known here") }
            for (database, log) in logs
            where log?.kept[name] == nil && log != nil && placement?.holders(of: database) == nil {
                problems.append("the node '\(name)' has not said how much it has of the database '\(database)'")
            }
        }
        if areMembersDamaged { problems.append("what etcd has of the members is damaged, or of a later version") }
        for name in placement?.names ?? [] where !nodes.contains(where: { $0.name == name }) {
            problems.append("the member '\(name)' does not run")
        }
        for (database, log) in logs {
            for holder in placement?.holders(of: database) ?? [] where log?.hasFiles(holder) == false {
                problems.append("the node '\(holder)' does not have the files of the database '\(database)' yet")
            }
            guard let log else {
                problems.append("what etcd has of the database '\(database)' is damaged, or of a later version")
                continue
            }
            if log.owner == nil { problems.append("no node takes the writes of the database '\(database)'") }
        }
        return problems
    }
}
