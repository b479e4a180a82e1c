import HearthEtcdGateway
import HearthEtcdMessages
import HearthEventLoop
import HearthReplicatedLog

/// The etcd clusters as a command for operators asks them. For one thread, which waits.
final class StoreClients {
    let stores: [EtcdStore]
    private let clusters: [EtcdCluster]
    private let clients: [EtcdClient]
    private let duration: Duration
    /// The etcd clusters whose members and names were compared.
    private var checked: Set<Int> = []
    /// The etcd clusters of databases that were asked for.
    private var located: [String: Int] = [:]

    /// How long a member may take to say of which cluster it is.
    var lookDuration = Duration.seconds(1)

    /// - parameter tls: a client's; nil for connections that are not encrypted.
    /// - parameters:
    ///   - duration: how long a call may take.
    ///   - areCompared: whether it is known that the members are of one etcd cluster each, which has the right name.
    init(_ stores: [EtcdStore], tls: TLSContext?, callsTakeAtMost duration: Duration, areCompared: Bool = false) {
        precondition(!stores.isEmpty)
        self.stores = stores
        self.duration = duration
        clusters = stores.map { EtcdCluster($0.members, tls: tls) }
        clients = clusters.map { EtcdClient($0) }
        if areCompared { checked = Set(stores.indices) }
    }

    /// - parameter store: the number of the etcd cluster; 0 for home.
    func call<Call: EtcdCall>(_ call: Call, at store: Int = 0) throws(EtcdError) -> Call.Reply {
        try check(store)
        return try clients[store].call(call, within: duration)
    }

    /// Throws if the members are not of one etcd cluster, or if that has another name than here.
    private func check(_ store: Int) throws(EtcdError) {
        if checked.contains(store) { return }
        var areCompared = try compareMembers(of: store)
        let reply = try clients[store].call(EtcdRange(.key(StoreDirectory.nameKey)), within: duration)
        // One that was silent answers now.
        if !areCompared { areCompared = try compareMembers(of: store) }
        if let name = StoreDirectory.name(in: reply.values), name != stores[store].name {
            throw .unavailable("--cluster calls it '\(stores[store].name)', and it is called '\(name)'")
        }
        if areCompared { checked.insert(store) }
    }

    /// A call asks one member, which may be of an etcd cluster that no node uses. False if none has answered.
    private func compareMembers(of store: Int) throws(EtcdError) -> Bool {
        let cluster = clusters[store]
        var identities = MemberIdentities()
        identities.look(
            stores[store].members.map { member in
                (member, try? cluster.status(of: member, within: lookDuration).cluster)
            })
        switch identities.state {
        // The call says why.
        case .unknown: return false
        case .agreed(let found):
            cluster.expect(found)
            return true
        case .mixed(let text): throw .unavailable(text)
        }
    }

    /// A problem with an etcd cluster, which has a name if there are several.
    func text(_ error: EtcdError, at store: Int) -> String {
        stores.count == 1 ? "\(error)" : "the etcd cluster '\(stores[store].name)': \(error)"
    }

    /// The etcd cluster that has the log of a database, or whose nodes miss it; home if that is true of none.
    func store(of database: String) throws(Problem) -> Int {
        if let store = located[database] { return store }
        let store: Int
        switch StoreDirectory.found(try ask(StoreDirectory.look(for: database), 0)) {
        case .store(let name):
            guard let index = stores.firstIndex(where: { $0.name == name }) else {
                throw Problem(
                    description: "the log of the database '\(database)' is in the etcd cluster '\(name)', which "
                        + "--cluster does not name")
            }
            store = index
        case .nothing:
            // It may have forgotten.
            store = try otherStore(of: database) ?? 0
        case .damaged, .otherStore:
            throw Problem(description: "what etcd says of the place of the database '\(database)' cannot be read")
        }
        located[database] = store
        return store
    }

    private func otherStore(of database: String) throws(Problem) -> Int? {
        for store in stores.indices.dropFirst() {
            let reply = try ask(StoreDirectory.lookElsewhere(for: database), store)
            if StoreDirectory.elsewhere(reply).hasLog { return store }
        }
        return nil
    }

    private func ask(_ call: EtcdTransaction, _ store: Int) throws(Problem) -> EtcdTransactionReply {
        do throws(EtcdError) { return try self.call(call, at: store) } catch {
            throw Problem(description: text(error, at: store))
        }
    }

    /// One line for people.
    struct Problem: Error {
        let description: String
    }
}
