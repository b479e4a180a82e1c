import HearthEtcdGateway
import HearthEtcdMessages
import HearthSystem
import Synchronization

/// The etcd cluster that has one log, which has to be found first. Any thread.
final class LogPlace: Sendable {
    /// Why it is not known.
    enum Failure: Error, Hashable {
        /// Home has not answered.
        case unreachable(EtcdError)
        /// It will be known when something else has happened.
        case notYet(String)
        /// Only an operator can help.
        case never(String)

        /// Until it is looked for again. Many logs may wait.
        fileprivate var pause: Duration {
            switch self {
            case .unreachable: .zero
            case .notYet: .milliseconds(500)
            case .never: .seconds(5)
            }
        }
    }

    private let home: NodeStore
    /// The last failure, and until when it stands.
    private let failed = Mutex<(failure: Failure, until: MonotonicTime)?>(nil)
    private let found: Mutex<NodeStore?>
    private let find: @Sendable (EtcdClient) throws(Failure) -> NodeStore

    /// - parameter find: waits for etcd. It gets a client of home.
    init(home: NodeStore, known: NodeStore?, find: @escaping @Sendable (EtcdClient) throws(Failure) -> NodeStore) {
        self.home = home
        found = Mutex(known)
        self.find = find
    }

    /// One that is known.
    convenience init(_ store: NodeStore) {
        self.init(home: store, known: store) { _ throws(Failure) in store }
    }

    /// Nil until it was found.
    var known: NodeStore? { found.withLock { $0 } }

    /// Finds it, which one thread does. Waits for etcd.
    ///
    /// - parameter client: of home, or of the etcd cluster that was found; made here.
    func store(_ client: inout EtcdClient?) throws(Failure) -> (store: NodeStore, client: EtcdClient) {
        let open = client ?? (known ?? home).makeClient()
        client = open
        if let known { return (known, open) }
        if let (failure, until) = failed.withLock({ $0 }), MonotonicTime.current < until { throw failure }
        let store: NodeStore
        do throws(Failure) { store = try find(open) } catch {
            failed.withLock { $0 = (error, .current + error.pause) }
            throw error
        }
        found.withLock { $0 = store }
        let new = store === home ? open : store.makeClient()
        client = new
        return (store, new)
    }
}
