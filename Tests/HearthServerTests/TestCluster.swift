import HearthEventLoop
import HearthClusterNode
import HearthEtcdGateway
import HearthEtcdMessages
import Glibc
import HearthServer
import HearthReplicatedLog
import HearthSystem
import HearthTestSupport
import Testing

/// Nodes of a cluster in this process, three unless a test wants more, with a real etcd.
final class TestCluster {
    let etcd: EtcdServers
    /// Further etcd clusters, by name.
    let others: [(name: String, servers: EtcdServers)]
    private let folder = TemporaryFolder()
    private(set) var nodes: [String: RealtimeTestServer] = [:]
    /// Where nodes reach each other; empty if they do not.
    private var peerPorts: [String: UInt16] = [:]
    private var settingsFile: String?
    private let configure: (inout ServerConfiguration) -> Void

    static let names = ["n1", "n2", "n3"]

    /// - parameter furtherEtcd: the names of further etcd clusters, of one member each.
    /// - parameter forwardsWrites: the nodes reach each other, and send writes to the one that makes them.
    /// - parameter names: of the nodes that start.
    /// - parameter others: those of nodes that may be started later.
    /// - parameter settings: those of all databases; nil for none.
    init(
        etcdMembers: Int = 1, etcdOptions: [String] = [], furtherEtcd: [String] = [], forwardsWrites: Bool = false,
        names: [String] = TestCluster.names,
        others: [String] = [], settings: String? = nil,
        configure: @escaping (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        self.configure = configure
        etcd = try EtcdServers(count: etcdMembers, options: etcdOptions)
        self.others = try furtherEtcd.map { ($0, try EtcdServers(count: 1)) }
        if let settings {
            settingsFile = "\(folder.path)/settings.json"
            TemporaryFolder.write(Array(settings.utf8), to: "\(folder.path)/settings.json")
        }
        if forwardsWrites {
            let ports = try FreePort.several(names.count + others.count)
            peerPorts = Dictionary(uniqueKeysWithValues: zip(names + others, ports))
        }
        for name in names { try start(name) }
    }

    // Before etcd and the folder.
    deinit { nodes = [:] }

    /// - parameter others: how the node reaches etcd; nil for directly.
    func start(_ name: String, folder other: String? = nil, members others: [EtcdMember]? = nil) throws {
        let stores = stores(homeAt: others)
        nodes[name] = try RealtimeTestServer {
            $0.dataFolder = "\(folder.path)/\(other ?? name)"
            $0.settingsFile = settingsFile
            let peers = peerPorts[name].map { port in
                PeerConfiguration(
                    address: .loopback(port: port), secret: ClusterSecret("a secret of at least 32 characters"))
            }
            $0.cluster = ClusterConfiguration(stores, node: name, peers: peers)
            configure(&$0)
        }
    }

    /// The etcd clusters.
    ///
    /// - parameter members: how home is reached; nil for directly.
    func stores(homeAt members: [EtcdMember]? = nil) -> [EtcdStore] {
        func direct(_ servers: EtcdServers) -> [EtcdMember] {
            servers.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
        }
        return EtcdStore.one(members ?? direct(etcd)) + others.map { EtcdStore($0.name, direct($0.servers)) }
    }

    func dataFolder(of name: String) -> String { "\(folder.path)/\(name)" }

    /// The node that takes the writes of a database, once etcd says so.
    func recordedOwner(of database: String = "default", except other: String? = nil) throws -> String {
        let members = etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
        let client = EtcdClient(EtcdCluster(members))
        var found: String?
        try wait("an owner") {
            let reply = try client.call(
                EtcdRange(.key(LogKeys(database: database).owner)), within: Patience.limit)
            found = reply.values.first.flatMap { OwnerRecord($0.value)?.node }
            return found != nil && found != other
        }
        return try #require(found)
    }

    /// A node's time as the owner of the default database.
    struct Term: Equatable {
        let node: String
        fileprivate let revision: UInt64
    }

    /// On a busy machine the lease of a node may end at any time. What it was doing is then begun anew.
    struct TermEnded: Error {}

    /// Nil while nobody has the log.
    private func currentTerm() throws -> Term? {
        let client = EtcdClient(EtcdCluster(etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }))
        let reply = try client.call(EtcdRange(.key(LogKeys(database: "default").owner)), within: Patience.limit)
        guard let value = reply.values.first, let record = OwnerRecord(value.value) else { return nil }
        return Term(node: record.node, revision: UInt64(value.createRevision))
    }

    /// The present one, of a node that has begun to take writes.
    func term(except other: String? = nil) throws -> Term {
        var term: Term?
        try wait("a term") {
            let owner = try owner(except: other)
            term = try currentTerm()
            return term?.node == owner
        }
        return try #require(term)
    }

    /// Writes in a term. While that lasts, the owner refuses a write only when it is not sure of its lease.
    func write(_ path: String, _ text: String, in term: Term) throws {
        var (isMade, isInDoubt) = (false, false)
        try wait("a write, or the end of the term") {
            if !isInDoubt {
                switch try? self[term.node].connectREST().ask("PUT", "\(path).json", [], text).status {
                case 200: isMade = true
                case 503: break
                // The connection ends with the term.
                case nil: isInDoubt = true
                case let status?: Issue.record("\(path): \(status)")
                }
            }
            return try isMade || currentTerm() != term
        }
        if !isMade { throw TermEnded() }
    }

    /// Messages of a peer until one contains a text.
    func told(_ peer: RealtimePeer, until text: String, in term: Term) throws -> [String] {
        var messages: [String] = []
        while messages.last?.contains(text) != true {
            guard let message = try peer.receiveMessage() else {
                // The connections of a node end when it takes the writes no more.
                try wait("the end of the term") { try currentTerm() != term }
                throw TermEnded()
            }
            messages.append(message)
        }
        return messages
    }

    /// Does something with new clusters until no term ends that should not.
    static func undisturbed<Result>(_ body: () throws -> Result) throws -> Result {
        let deadline = MonotonicTime.current + Patience.limit
        while true {
            do { return try body() } catch is TermEnded {
                try #require(MonotonicTime.current < deadline, "a term ended each time")
            }
        }
    }

    /// The names of the nodes that run and do not take the writes.
    func followers() throws -> [String] {
        let owner = try recordedOwner()
        return nodes.keys.sorted().filter { $0 != owner }
    }

    /// Ends a node in an orderly way.
    func stop(_ name: String) throws {
        try nodes[name]?.beginToStop()
        nodes[name]?.waitForEnd()
        nodes[name] = nil
    }

    subscript(name: String) -> RealtimeTestServer { nodes[name]! }

    /// The node that takes writes, once one does, which is asked to write something.
    func owner(except other: String? = nil) throws -> String {
        var found: String?
        try wait("an owner") {
            for (name, server) in nodes.sorted(by: { $0.key < $1.key }) where name != other {
                // Connections end when a log has another owner.
                let answer = try? server.connectREST().ask("PUT", "/owner.json", [], "\"\(name)\"")
                if answer?.status == 200 { found = name }
                if found != nil { return true }
            }
            return false
        }
        return try #require(found)
    }

    func get(_ path: String, at name: String) throws -> String {
        try self[name].connectREST().ask("GET", "\(path).json").text
    }

    /// Waits until something holds; fails if it does not in time.
    func wait(_ what: String, until holds: () throws -> Bool) throws {
        let deadline = MonotonicTime.current + Patience.limit
        while try !holds() {
            try #require(MonotonicTime.current < deadline, "waited for \(what)")
            poll(nil, 0, 10)
        }
    }
}
