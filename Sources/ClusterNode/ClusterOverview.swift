import HearthEtcdGateway
package import HearthEtcdMessages
package import HearthEventLoop
package import HearthJSONValues
import HearthReplicatedLog
import HearthStorageErrors

/// The members, nodes and databases of a cluster as etcd has them, for operators. Asks no node.
package struct ClusterOverview: Sendable {
    /// What one etcd cluster has.
    private struct Store {
        var name: String
        var members: [(member: EtcdMember, state: Result<EtcdStatus.Reply, EtcdError>)] = []
        /// The names of the nodes that use it.
        var nodes: Set<String> = []
        var logs: [(database: String, log: LogOverview?)] = []
        /// Databases whose logs are in another etcd cluster, with its name.
        var elsewhere: [String: String] = [:]
        /// Databases whose logs nodes miss.
        var missed: Set<String> = []
        /// Why nothing of this is known.
        var problem: EtcdError?
        var format: FormatOverview?

        func isMissed(by node: String) -> Bool { problem == nil && !nodes.contains(node) }
    }

    private let tls: TLSContext?
    private let clusters: [EtcdStore]
    private var stores: [Store]
    /// Nil for records of unknown versions.
    private var nodes: [(name: String, record: NodeRecord?)] = []
    /// The nodes that a node does not reach, in order.
    private var unreached: [String: [String]] = [:]
    /// Nil if every node holds everything.
    private var placement: ClusterMembers?
    private var areMembersDamaged = false

    private static let callDuration = Duration.seconds(3)

    /// Asks all members, one after the other. Waits. ``read()`` comes next.
    ///
    /// - parameter tls: a client's; nil for connections that are not encrypted.
    package init(_ clusters: [EtcdStore], tls: TLSContext? = nil) {
        self.tls = tls
        self.clusters = clusters
        stores = clusters.map { cluster in
            var store = Store(name: cluster.name)
            for member in cluster.members {
                let client = EtcdClient(EtcdCluster([member], tls: tls))
                store.members.append(
                    (
                        member,
                        Result { () throws(EtcdError) in try client.call(EtcdStatus(), within: Self.callDuration) }
                    ))
            }
            return store
        }
    }

    /// Reads what etcd has of nodes and databases. With several etcd clusters, one that does not answer is a problem
    /// like others.
    package mutating func read() throws(EtcdError) {
        for index in clusters.indices {
            let client = EtcdClient(EtcdCluster(clusters[index].members, tls: tls))
            do throws(EtcdError) {
                if index == 0 { try readHome(client) }
                try Self.read(&stores[index], client)
                stores[index].problem = nil
            } catch {
                if clusters.count == 1 { throw error }
                stores[index].problem = error
            }
        }
    }

    private mutating func readHome(_ client: EtcdClient) throws(EtcdError) {
        nodes = try client.call(EtcdRange(NodeRecord.folder), within: Self.callDuration).values.map {
            (NodeRecord.name(of: $0.key), NodeRecord($0.value))
        }
        let statements = try client.call(EtcdRange(UnreachedNodes.folder), within: Self.callDuration).values
        let running = Set(nodes.map(\.name))
        unreached = UnreachedNodes.statements(in: statements).mapValues { $0.names.intersection(running).sorted() }
        let document = try client.call(EtcdRange(.key(ClusterMembers.key)), within: Self.callDuration).values.first
        placement = document.flatMap { ClusterMembers($0.value) }
        areMembersDamaged = document != nil && placement == nil
    }

    private static func read(_ store: inout Store, _ client: EtcdClient) throws(EtcdError) {
        let names = try client.call(EtcdRange(.key(StoreDirectory.nameKey)), within: callDuration).values
        if let name = StoreDirectory.name(in: names), name != store.name {
            throw .unavailable("--cluster calls it '\(store.name)', and it is called '\(name)'")
        }
        let records = try client.call(EtcdRange(NodeRecord.folder, keysOnly: true), within: callDuration).values
        store.nodes = Set(records.map { NodeRecord.name(of: $0.key) })
        store.format = FormatOverview(try client.call(FormatOverview.request, within: callDuration))
        let files = try client.call(EtcdRange(LogKeys.filesOfAll, keysOnly: true), within: callDuration).values
        store.missed = Set(files.compactMap { LogKeys.filesOwner(of: $0.key)?.database })
        (store.logs, store.elsewhere) = ([], [:])
        var last: String?
        while let key = try client.call(LogKeys.nextDatabase(after: last), within: callDuration).values.first?.key,
            let database = LogKeys.database(of: key)
        {
            let log = LogOverview(database, try client.call(LogOverview.request(database), within: callDuration))
            if let name = log?.elsewhere {
                store.elsewhere[database] = name
            } else {
                store.logs.append((database, log))
            }
            last = database
        }
    }

    /// Of all etcd clusters, by name.
    private var logs: [(database: String, store: String, log: LogOverview?)] {
        stores.flatMap { store in store.logs.map { ($0.database, store.name, $0.log) } }
            .sorted { $0.0 < $1.0 }
    }

    /// Lines for people.
    package var lines: [String] {
        var lines = stores.flatMap { self.lines(of: $0) }
        lines.append("nodes")
        for (name, record) in nodes {
            guard let record else {
                lines.append("  \(name)  of a version that is not known here")
                continue
            }
            let reads = stores[0].format?.nodes[name].map { $0 < .latest ? ", reads format \($0.rawValue)" : "" } ?? ""
            lines.append(
                "  \(name)  clients at \(record.address), nodes at \(record.peerAddress ?? "no address")\(reads)")
            for other in unreached[name] ?? [] { lines.append("    does not reach \(other)") }
            for store in stores where store.isMissed(by: name) { lines.append("    does not use \(store.name)") }
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
        for (database, store, log) in logs {
            guard let log else {
                lines.append("  \(database)  damaged, or of a version that is not known here")
                continue
            }
            let last = log.head?.lastSequence ?? 0
            let place = stores.count == 1 ? "etcd" : store
            let range = last < log.floor ? "none in \(place)" : "\(log.floor) to \(last) in \(place)"
            lines.append("  \(database)  owner \(log.owner ?? "none"), last commit \(last), \(range)")
            guard let holders = placement?.holders(of: database) else {
                let unusable = Set(log.nodes(that: .copying) + log.nodes(that: .failing))
                for node in unusable.union(log.kept.keys).sorted() {
                    let held = unusable.contains(node) ? log.held[node] : nil
                    lines.append("    \(node)  \(Self.files(held, log.kept[node]))")
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

    private func lines(of store: Store) -> [String] {
        var lines = [stores.count == 1 ? "etcd" : "etcd cluster \(store.name)"]
        for (member, state) in store.members {
            switch state {
            case .success(let status):
                let leads = status.leader == status.member ? ", leads" : ""
                lines.append("  \(member)  version \(status.version)\(leads), \(status.usedBytes >> 20) MiB in use")
            case .failure(let error): lines.append("  \(member)  \(error)")
            }
        }
        if let format = store.format {
            let isBehind = format.possible.map { $0 > format.format } ?? false
            let advice = isBehind ? ", and all nodes read a later one: see 'hearth cluster upgrade'" : ""
            lines.append("  format \(format.format.rawValue)\(advice)")
        }
        return lines
    }

    private static func files(_ held: HeldFiles?, _ kept: UInt64?) -> String {
        switch held {
        case .through(_, let sequence): "has \(sequence) on disk"
        case .copying: "is copying another node's files"
        case .nothing: "has no files"
        case .failing: "cannot write its files, or apply the log"
        // One of an earlier version does not say.
        case nil: kept.map { "has \($0) on disk" } ?? "has not said what it has"
        }
    }

    /// The same for programs.
    package var json: JSONObject {
        let members = stores.flatMap { store in store.members.map { (store.name, $0.member, $0.state) } }.map {
            (store, member, state) in
            var json = JSONObject(["address": .text("\(member)")])
            if stores.count > 1 { json["etcd"] = .text(store) }
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
                    "reads": stores[0].format?.nodes[name].map { .integer(Int64($0.rawValue)) },
                    "unreached": .array((unreached[name] ?? []).map { .text($0) }),
                ]))
        }
        let databases = logs.map { (database, store, log) in
            var json = JSONObject(["name": .text(database), "owner": log?.owner.map { .text($0) }])
            if stores.count > 1 { json["etcd"] = .text(store) }
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
            }
            json["copying"] = .array(log.nodes(that: .copying).map { .text($0) })
            json["failing"] = .array(log.nodes(that: .failing).map { .text($0) })
            return .object(json)
        }
        var json = JSONObject(["members": .array(members), "nodes": .array(nodes), "databases": .array(databases)])
        if let format = stores[0].format {
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

    /// Logs that are in an etcd cluster that is not known here, nowhere, or in two.
    private var misplaced: [String] {
        var problems: [String] = []
        for (database, name) in stores[0].elsewhere.sorted(by: { $0.key < $1.key })
        where !stores.contains(where: { $0.name == name }) {
            problems.append(
                "the log of the database '\(database)' is in the etcd cluster '\(name)', which --cluster does not name")
        }
        for store in stores {
            for database in store.missed.sorted() where !store.logs.contains(where: { $0.database == database }) {
                let place = stores.count == 1 ? "etcd" : "the etcd cluster '\(store.name)'"
                problems.append(
                    "\(place) does not have the log of the database '\(database)', of which nodes have files")
            }
        }
        for (database, logs) in Dictionary(grouping: logs, by: \.database).sorted(by: { $0.key < $1.key })
        where logs.count > 1 {
            let list = logs.map(\.store).joined(separator: ", ")
            problems.append("the database '\(database)' has a log in several etcd clusters: \(list)")
        }
        return problems
    }

    /// Problems for an operator: one line each.
    package var problems: [String] {
        var problems: [String] = []
        for case (let member, .failure(let error)) in stores.flatMap(\.members) {
            problems.append("etcd at \(member): \(error)")
        }
        for store in stores {
            let members = store.members.compactMap { entry in
                (try? entry.state.get()).map { (member: entry.member, status: $0) }
            }
            if let text = MemberIdentities.contradiction(in: members.map { ($0.member, $0.status.cluster) }) {
                problems.append(text)
            }
            for (index, (member, status)) in members.enumerated() {
                guard let other = members[..<index].first(where: { $0.status.member == status.member }) else {
                    continue
                }
                problems.append("\(member) and \(other.member) are the same member of etcd")
            }
        }
        for case (let member, .success(let status)) in stores.flatMap(\.members) where status.isFull {
            problems.append("etcd at \(member) takes no writes: \(StorageError.etcdFull.message)")
        }
        for store in stores {
            if let problem = store.problem {
                problems.append("the etcd cluster '\(store.name)' does not say what it has: \(problem)")
            }
        }
        if stores[0].problem != nil {
            // Nothing is known of the nodes.
        } else if nodes.isEmpty {
            problems.append("no node runs")
        } else if logs.isEmpty {
            problems.append("no database has begun")
        }
        for (name, record) in nodes {
            for other in unreached[name] ?? [] {
                problems.append("the node '\(name)' does not reach the node '\(other)'")
            }
            if record == nil { problems.append("the node '\(name)' runs a version that is not known here") }
            for store in stores where store.isMissed(by: name) {
                problems.append("the node '\(name)' does not use the etcd cluster '\(store.name)'")
            }
            for (database, _, log) in logs
            where log?.kept[name] == nil && log != nil && placement?.holders(of: database) == nil {
                problems.append("the node '\(name)' has not said how much it has of the database '\(database)'")
            }
        }
        problems += misplaced
        if areMembersDamaged { problems.append("what etcd has of the members is damaged, or of a later version") }
        for name in placement?.names ?? [] where !nodes.contains(where: { $0.name == name }) {
            problems.append("the member '\(name)' does not run")
        }
        for (database, _, log) in logs {
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
