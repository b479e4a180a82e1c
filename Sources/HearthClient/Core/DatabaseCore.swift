import HearthClientTransport
import HearthJSONTree
import Synchronization
import HearthPlatform
import HearthWireProtocol
import HearthClientSession

/// The state of a client's database, on its loop: the sync tree, the connection, and the requests that wait for it.
///
/// The connection is restored automatically. After each hello, the client sends the token, all listens, and then all
/// unanswered requests in their original order, except transactions that were sent before.
final class DatabaseCore: LinkOwner, @unchecked Sendable {
    // Safe because: other threads only pass a reference to `loop.execute`.

    /// Refused writes that the program has not read yet.
    static let keptRefusalsMax = 1000

    let loop: any ClientLoop
    let options: DatabaseOptions
    let tree = SyncTree()
    /// The values below `.info`; never sent.
    private let info = SyncTree()
    private var infoValue: Node
    var observers: [Int: Observer] = [:]
    /// By observer number.
    var aggregates: [Int: AggregateListener] = [:]
    let outgoing: OutgoingRequests
    var transactions: [Int: Transaction] = [:]
    let link: Link
    /// Nil without persistence, or after it has failed.
    var cache: (any ValueCache)?
    /// Writes of an earlier process with server values, by number: estimated again when more is known of their places.
    var restoredWrites: [Int: [WireAssignment]] = [:]
    /// Listens whose values are to be saved.
    var unsaved: Set<ServerListen> = []
    let flushes = Flushes()
    // Any thread may read these.
    let pendingWriteCount = Broadcast(state: 0)
    /// Writes of an earlier process may be refused before the program reads refusals.
    let refusedWrites = Broadcast<WriteRefusal>(keptMax: DatabaseCore.keptRefusalsMax)
    /// Milliseconds that the server's clock is ahead. Any thread may read it.
    let sharedClockOffset = Atomic<Int64>(0)
    /// The server's time in the last hello, and the time on this loop then.
    private(set) var hello: (time: Int64, arrival: Duration) = (0, .zero)

    var callers: WaitingCallers { link.callers }
    var clockOffset: Int64 { sharedClockOffset.load(ordering: .relaxed) }

    private struct Kept: Hashable {
        let path: Path
        let query: Query
    }

    /// Events that were not yet delivered to observers.
    private var untold: [SyncEvent] = []
    private var isTelling = false
    /// The observers that keep data up to date.
    private var keepers: [Kept: Int] = [:]
    /// Later requests are refused.
    private(set) var isClosed = false

    /// Receives events.
    struct Observer {
        var isInfo = false
        /// Whether it ends after one event.
        var isOnce = false
        /// Whether the program may end it together with others. Those of loops and transactions end with these.
        var isRemovable = false
        let onEvent: (SyncEvent.What) -> Void
        let onCancel: (DatabaseError) -> Void
    }

    init(
        url: DatabaseURL, options: DatabaseOptions, connection: ConnectionOptions, cache: (any ValueCache)?,
        loop: any ClientLoop
    ) {
        self.loop = loop
        self.cache = cache
        self.options = options
        link = Link(url: url, options: options, connection: connection, loop: loop)
        outgoing = OutgoingRequests(link, flushes, writeCount: pendingWriteCount)
        infoValue = Node(children: InfoKeys.values(isConnected: false, clockOffset: 0))
        link.owner = self
    }

    // MARK: Observing

    func observe(_ id: Int, _ place: DatabasePlace, _ query: QueryObject, _ kinds: EventKinds, _ observer: Observer) {
        if isClosed { return observer.onCancel(.closed) }
        observers[id] = observer
        if place.isInfo {
            tell(info.observe(id, place.path, query, kinds).events)
            showInfo()
        } else {
            perform(tree.observe(id, place.path, query, kinds, restore: restore))
        }
    }

    func removeObserver(_ id: Int) {
        guard let observer = observers.removeValue(forKey: id) else { return removeAggregates(id) }
        if observer.isInfo {
            _ = info.removeObserver(id)
        } else {
            save(tree.listens(endingWith: id))
            perform(tree.removeObserver(id))
        }
    }

    /// Removes the observers with blocks of a query, or of all queries at a place.
    func removeObservers(at place: DatabasePlace, _ query: Query?) {
        for id in (place.isInfo ? info : tree).observers(at: place.path, query) where observers[id]?.isRemovable == true
        {
            removeObserver(id)
        }
    }

    /// Adds or removes an observer without events that keeps a query's data up to date.
    func keepSynced(_ isKept: Bool, _ place: DatabasePlace, _ query: QueryObject, _ number: Int) {
        let kept = Kept(path: place.path, query: query.query)
        if !isKept {
            if let old = keepers.removeValue(forKey: kept) { removeObserver(old) }
        } else if keepers[kept] == nil {
            keepers[kept] = number
            let observer = Observer(onEvent: { _ in }, onCancel: { [self] _ in keepers[kept] = nil })
            observe(number, place, query, [], observer)
        }
    }

    /// Sends the tree's listens and delivers its events.
    func perform(_ output: SyncOutput) {
        var events = output.events
        for listen in output.starts {
            events += restore(listen)
            send(listen)
        }
        for listen in output.stops { sendStop(listen) }
        tell(events)
    }

    private func tell(_ events: [SyncEvent]) {
        untold += events
        guard !isTelling else { return }
        isTelling = true
        // Events caused by observers come after those that were queued before.
        while !untold.isEmpty {
            let events = untold
            untold = []
            for event in events {
                guard let observer = observers[event.observer] else { continue }
                if observer.isOnce { removeObserver(event.observer) }
                observer.onEvent(event.what)
            }
        }
        isTelling = false
    }

    private func showInfo() {
        let assignment = NodeAssignment(target: WriteTarget(path: .root), value: infoValue)
        tell(info.serverChanged([assignment]).events)
    }

    // MARK: Listens

    /// Sends a listen: when it begins, and again after each reconnection with the position of the known data, so that
    /// the server reports only the changes since.
    private func send(_ listen: ServerListen) {
        guard let session = link.session else { return }
        let hash = tree.cached(listen).map { NodeHash.hash($0.canonical) } ?? []
        let since = listen.tag == nil ? tree.position(of: listen) : nil
        let request = ClientRequest.listen(
            listen.path, query: listen.query, tag: listen.tag, hash: hash, since: since)
        session.send(request) { [self] result in
            switch result {
            case .success(let response) where response.isOK:
                if listen.query?.query.conditions != nil { warn(ofMissingIndex: response, at: listen.path) }
                // Servers without positions answer in the usual way.
                let listening = try? response.listening()
                let output = tree.listenCompleted(
                    listen, listening?.position ?? [], isRecovered: listening?.recovered ?? false)
                // First, because an observer that ends with its event saves the value.
                saveLater([listen])
                perform(output)
                tell(estimateRestoredWrites(at: listen.path))
                transactionsMayBegin()
            case .success(let response) where response.isUnavailable: link.serverUnavailable()
            // The position comes from a server of another version.
            case .success(let response) where since?.isEmpty == false && response.isInvalidArgument:
                if tree.forgetPosition(of: listen) { send(listen) }
            case .success(let response):
                fail(listen, DatabaseError(response.refusal).answering(listen.query))
            // The next connection will have it.
            case .failure: break
            }
        }
    }

    private func sendStop(_ listen: ServerListen) {
        guard let session = link.session else { return }
        tree.stopSent(listen)
        session.send(.unlisten(listen.path, query: listen.query, tag: listen.tag)) { [tree] _ in
            tree.stopAnswered(listen)
        }
    }

    private func fail(_ listen: ServerListen, _ error: DatabaseError) {
        options.log(.warning, "the server refuses to let \(listen.path) be observed: \(error)")
        let (failed, output) = tree.listenFailed(listen)
        let cancelled = failed.compactMap { observers.removeValue(forKey: $0) }
        perform(output)
        for observer in cancelled { observer.onCancel(error) }
    }

    // MARK: The connection

    /// Ends everything. Callers that wait for an answer get an error. Observers receive only the end: unanswered writes
    /// may still take effect, so they are not shown as rolled back.
    func close() {
        if isClosed { return }
        isClosed = true
        let cancelled = observers.sorted { $0.key < $1.key }
        observers = observers.filter { $0.value.isInfo }
        link.goOffline()
        observers = [:]
        save()
        cache = nil
        flushes.removeAll()
        pendingWriteCount.end()
        outgoing.close()
        callers.failAll(.closed)
        for (_, observer) in cancelled { observer.onCancel(.closed) }
        cancelAggregates(because: .closed)
        link.status.end()
        refusedWrites.end()
    }

    /// The connection is established and signed in.
    func opened() {
        for listen in tree.listens { send(listen) }
        sendAggregates()
        outgoing.sendAll()
    }

    func greeted(_ hello: ServerHello) {
        self.hello = (hello.time, loop.time)
        sharedClockOffset.store(hello.time &- WallClock.milliseconds, ordering: .relaxed)
        setInfo(isConnected: true)
    }

    func disconnected() { setInfo(isConnected: false) }

    private func setInfo(isConnected: Bool) {
        infoValue = Node(children: InfoKeys.values(isConnected: isConnected, clockOffset: clockOffset))
        showInfo()
    }

    func received(_ push: ServerPush) {
        switch push {
        case .data(let assignment, let tag, let position):
            if !tellAggregates([assignment], tag: tag) { changed([assignment], tag, position, isMerge: false) }
        case .merge(_, let assignments, let tag, let position):
            if !tellAggregates(assignments, tag: tag) { changed(assignments, tag, position, isMerge: true) }
        case .revoke(let path, let query):
            let revoked = tree.listens.filter { $0.path == path && ($0.query?.isNamed(by: query) ?? (query == nil)) }
            for listen in revoked { fail(listen, .permissionDenied("the listen was revoked")) }
            revokeAggregates(at: path, query)
        case .profile: break
        case .unknown(let action): if action.elementsEqual("ac".utf8) { link.tokenRefused() }
        }
    }

    private func changed(
        _ assignments: [WireAssignment], _ tag: Int64?, _ position: CommitPosition?, isMerge: Bool
    ) {
        // Server values are estimated without it.
        let assignments = assignments.filter { !$0.hasServerValues }
            .map { NodeAssignment(target: $0.target, value: Node($0.value)) }
        let output =
            tag.map { tree.serverChanged(tag: $0, assignments) }
            ?? tree.serverChanged(assignments, position ?? [], isMerge: isMerge)
        // First, because an observer that ends with its event saves the value.
        saveLater(tree.listens(concernedBy: assignments.map(\.target.path), tag: tag))
        perform(output)
        transactionsMayBegin()
    }

    // MARK: Reading once

    /// The server's value, or the local one while it is observed.
    func get(
        _ place: DatabasePlace, _ query: QueryObject, isAbandoned: @escaping () -> Bool,
        completion: @escaping (Result<Node, DatabaseError>) -> Void
    ) {
        if place.isInfo { return completion(.success(query.query.select(from: infoValue.value(at: place.path)))) }
        if let known = tree.observedValue(at: place.path, query.query) { return completion(.success(known)) }
        if query.query.conditions != nil {
            return find(place, query, isAbandoned: isAbandoned) { completion($0.map(\.node)) }
        }
        let isWhole = query.query.selectsEverything
        ask(place.path, isWhole ? nil : query, for: "a value", isAbandoned: isAbandoned, completion: completion) {
            guard let (value, hasServerValues) = try? CanonicalJSON.parse($0), !hasServerValues else { return nil }
            return Node(value)
        }
    }

    /// Asks the server for what a query selects.
    ///
    /// - parameters:
    ///   - what: names the answer in the error for one that cannot be read.
    ///   - read: reads the answer; nil if it is something else.
    func ask<Value>(
        _ path: Path, _ query: QueryObject?, for what: String, isAbandoned: @escaping () -> Bool,
        completion: @escaping (Result<Value, DatabaseError>) -> Void, read: @escaping ([UInt8]) -> Value?
    ) {
        outgoing.add(.get(path, query: query), .question, isAbandoned: isAbandoned) { [weak self] result in
            completion(
                result.mapError { $0.answering(query) }.flatMap { response in
                    if query?.query.conditions != nil { self?.warn(ofMissingIndex: response, at: path) }
                    return read(response.data).map { .success($0) }
                        ?? .failure(.refused(status: "failure", message: "the answer is not \(what)"))
                })
        }
    }

    /// Logs which index would save the server from scanning all children.
    func warn(ofMissingIndex response: ServerResponse, at path: Path) {
        guard let index = response.neededIndex else { return }
        options.log(
            .warning,
            "a query at \(path) looks at every child; with the setting \".index\": [\(index)] it would not")
    }

    /// The children for which conditions hold, as the server has them.
    func find(
        _ place: DatabasePlace, _ query: QueryObject, isAbandoned: @escaping () -> Bool,
        completion: @escaping (Result<FoundPage, DatabaseError>) -> Void
    ) {
        if place.isInfo { return completion(.failure(.invalidQuery("locations below .info have no pages"))) }
        ask(place.path, query, for: "a page", isAbandoned: isAbandoned, completion: completion) {
            FoundPage(parsing: $0)
        }
    }
}

extension DatabaseError {
    /// Explains an unknown action in the answer to a query with conditions, which only Hearth since 0.2 supports.
    func answering(_ query: QueryObject?) -> DatabaseError {
        guard case .refused(status: "error", let message) = self, query?.query.conditions != nil else { return self }
        return .refused(status: "error", message: "the server knows no queries with conditions: \(message)")
    }
}

extension QueryObject {
    /// Everything, in the order of the priorities.
    static let everything = QueryObject(everythingBy: .priority)

    /// The whole value, in an order.
    init(everythingBy index: QueryIndex) {
        // Without bounds it cannot be invalid.
        guard let object = try? QueryObject(index: index) else { preconditionFailure("an order alone is a query") }
        self = object
    }
}

/// A location: in the database, or below `.info`.
struct DatabasePlace: Hashable, Sendable {
    var path: Path
    var isInfo = false
}

/// The values below `.info`.
enum InfoKeys {
    static func values(isConnected: Bool, clockOffset: Int64) -> [(key: Key, node: Node)] {
        let values: [(String, Leaf)] = [
            ("connected", .bool(isConnected)), ("serverTimeOffset", .integer(clockOffset)),
        ]
        return values.compactMap { name, leaf in (try? Key(validating: name)).map { ($0, Node(leaf)) } }
    }
}
