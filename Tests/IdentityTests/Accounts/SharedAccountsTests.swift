import HearthIdentity
import HearthStorageErrors
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

/// The log that nodes share: it takes a commit if it is made on top of the newest one. Answers come late, and some never.
private final class SimulatedLog: Sendable {
    struct State {
        var commits: [SharedCommit] = []
        /// The first that the log still has.
        var first = 0
        /// Its history.
        var epoch: UInt64 = 1
        /// Those before it.
        var past: Set<UInt64> = []
        var rows: [SharedRow.Name: SharedRow] = [:]
        var random: SeededRandom
        var isFaulty = false
        /// So many reads of all rows break off.
        var brokenReads = 0
    }

    let state: Mutex<State>
    /// Those of the nodes.
    let accounts = Mutex<[Accounts]>([])
    let revoked = Mutex<[Int: [Revocation]]>([:])
    /// What comes before a node is given all accounts.
    let beforeReading = Mutex<@Sendable () -> Void>({})
    /// The ways to the nodes that have read all accounts.
    let readers = Mutex<[@Sendable ([SharedRow]) -> Void]>([])

    /// Everything is told to all.
    func arrived() { for accounts in accounts.withLock({ $0 }) { accounts.arrived() } }

    init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed))) }

    func trim() { state.withLock { $0.first = $0.commits.count } }
}

extension SharedRow {
    fileprivate struct Name: Hashable {
        let table: String
        let key: [UInt8]
    }
}

/// A node's end of the log.
private final class SimulatedNode: AccountSharing {
    let node: String
    private let log: SimulatedLog
    private let worker: Worker<@Sendable () -> Void>

    init(_ node: String, _ log: SimulatedLog) throws {
        self.node = node
        self.log = log
        worker = try Worker(name: "simulated") { { batch in for work in batch { work() } } }
    }

    func forEachCommit(
        after place: SharedCommit.Place, _ body: (SharedCommit, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> (sequence: UInt64, epoch: UInt64)? {
        let (commits, first, epoch) = log.state.withLock { ($0.commits, $0.first, $0.epoch) }
        guard Int(place.sequence) >= first, place.epoch == 0 || place.epoch == epoch else { return nil }
        for (index, commit) in commits.enumerated().dropFirst(Int(place.sequence)) {
            try body(commit, UInt64(index + 1))
        }
        return (UInt64(commits.count), epoch)
    }

    func hasHad(_ place: SharedCommit.Place) -> Bool {
        log.state.withLock { $0.past.contains(place.epoch) || $0.epoch == place.epoch || place.sequence < $0.first }
    }

    func propose(_ commit: SharedCommit?, isRepeated: Bool, then: @escaping @Sendable (ProposalOutcome) -> Void) {
        let outcome = log.state.withLock { state -> ProposalOutcome in
            let isLost = state.isFaulty && Bool.random(using: &state.random)
            if isLost, Bool.random(using: &state.random) { return .unknown(.noQuorum) }
            let newest = state.commits.last?.version ?? 0
            guard let commit, commit.version == newest + 1 else {
                return isLost ? .unknown(.noQuorum) : .refused(newest: newest)
            }
            state.commits.append(commit)
            for row in commit.rows {
                state.rows[.init(table: row.table, key: row.key)] = row.columns == nil ? nil : row
            }
            return isLost ? .unknown(.noQuorum) : .taken
        }
        worker.post { [log] in
            then(outcome)
            log.arrived()
        }
    }

    func readAll(
        _ piece: @escaping @Sendable ([SharedRow]) -> Void, then: @escaping @Sendable (SharedCommit.Place?) -> Void
    ) {
        let (rows, place) = log.state.withLock { state -> ([SharedRow], SharedCommit.Place?) in
            if state.brokenReads > 0 {
                state.brokenReads -= 1
                return (Array(state.rows.values.prefix(state.rows.count / 2)), nil)
            }
            var place = SharedCommit.Place()
            place.sequence = UInt64(state.commits.count)
            place.version = state.commits.last?.version ?? 0
            place.author = state.commits.last?.author ?? ""
            return (Array(state.rows.values), place)
        }
        worker.post { [log] in
            log.beforeReading.withLock { $0 }()
            log.readers.withLock { $0.append(piece) }
            for row in rows { piece([row]) }
            then(place)
        }
    }
}

/// Accounts that several nodes share.
private final class SharedFixture {
    let log: SimulatedLog
    private(set) var nodes: [AccountsFixture] = []

    init(count: Int = 3, seed: UInt64 = 1) throws {
        log = SimulatedLog(seed: seed)
        for index in 0..<count { try add(AccountsFixture { $0.areShared = true }, index) }
        for node in nodes { try node.waitUntilComplete() }
    }

    func add(_ node: AccountsFixture, _ index: Int) throws {
        let end = try SimulatedNode("n\(index)", log)
        nodes.append(node)
        log.accounts.withLock { $0.append(node.accounts) }
        node.accounts.observe { [log] all in log.revoked.withLock { $0[index, default: []] += all } }
        node.accounts.begin(end)
    }

    func removeLast() {
        nodes.removeLast()
        log.accounts.withLock { _ = $0.removeLast() }
    }
}

extension AccountsFixture {
    fileprivate func waitUntilComplete(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let isHere = Semaphore()
        accounts.whenComplete { isHere.signal() }
        try #require(isHere.wait(atMost: Patience.limit), "the accounts are not here", sourceLocation: sourceLocation)
    }
}

@Suite("Accounts that nodes share")
struct SharedAccountsTests {
    @Test("what is done at one node is there at the others, which may go on with it")
    func sharing() throws {
        let cluster = try SharedFixture()
        let (first, second, third) = (cluster.nodes[0], cluster.nodes[1], cluster.nodes[2])
        let signUp = try first.signUp("ada@example.com")
        let id = signUp.user.id
        #expect(try second.signIn("ada@example.com").user.id == id)
        _ = try third.accounts.refresh(signUp.refreshToken)
        expectRefusal(.emailExists) { try third.signUp("ada@example.com") }
        var change = UserChange()
        change.displayName = "Ada"
        _ = try second.accounts.update(.user(id), change, in: second.realm)
        #expect(try first.user(id).displayName == "Ada")
        try third.accounts.delete(user: id, in: third.realm)
        expectRefusal(.userNotFound) { try first.accounts.refresh(signUp.refreshToken) }
    }

    @Test("who has just signed up at one node is known at another that has not heard of it yet")
    func newUser() throws {
        let cluster = try SharedFixture(count: 2)
        let (first, second) = (cluster.nodes[0], cluster.nodes[1])
        // Nothing is told to the second one.
        cluster.log.accounts.withLock { _ = $0.removeLast() }
        let signUp = try first.signUp("ada@example.com")
        func state(issuedAt: Int64, awaitsNewUsers: Bool = true) throws -> SessionState {
            let found = Mutex<SessionState?>(nil)
            let isFound = Semaphore()
            second.accounts.checkSession(
                second.realm, user: signUp.user.id, issuedAt: issuedAt, awaitsNewUsers: awaitsNewUsers
            ) { state in
                found.withLock { $0 = state }
                isFound.signal()
            }
            try #require(isFound.wait(atMost: Patience.limit))
            return try #require(found.withLock { $0 })
        }
        let now = second.accounts.now
        #expect(try state(issuedAt: now - 60_000) == .noUser)
        #expect(try state(issuedAt: now, awaitsNewUsers: false) == .noUser)
        #expect(try state(issuedAt: now) == .valid)
        // Now this node has heard of it.
        #expect(try state(issuedAt: now, awaitsNewUsers: false) == .valid)
    }

    @Test("every node hears what users lose, wherever that was done")
    func revocations() throws {
        let cluster = try SharedFixture()
        let user = try cluster.nodes[0].signUp("ada@example.com").user
        var change = UserChange()
        change.isDisabled = true
        _ = try cluster.nodes[1].accounts.update(.user(user.id), change, in: cluster.nodes[1].realm)
        try cluster.nodes[2].accounts.delete(user: user.id, in: cluster.nodes[2].realm)
        let losses: [Revocation.Loss] = [.disabled, .account]
        for index in cluster.nodes.indices {
            // The answer to a question comes after what happened before.
            _ = try cluster.nodes[index].accounts.lookUp([.id(user.id)], in: cluster.nodes[index].realm)
            var told: [Revocation.Loss] = []
            try blockUntil("the losses at node \(index)") {
                told = cluster.log.revoked.withLock { $0[index] ?? [] }.map(\.loss)
                return told.count >= losses.count
            }
            #expect(told == losses, "node \(index)")
        }
    }

    @Test(
        "the first node gives the cluster its accounts, in as many commits as need be; others with accounts are refused"
    )
    func founding() throws {
        let folder = TemporaryFolder()
        var id = ""
        do {
            let alone = try AccountsFixture(in: folder)
            id = try alone.signUp("ada@example.com").user.id
            // One commit has no room for all of them.
            let users = (0..<40).map { number in
                var user = User(id: "user\(number)", createdAt: 0)
                var link = ProviderLink(provider: "oidc.a", rawID: "\(number)")
                link.displayName = String(repeating: "x", count: 500_000)
                user.links = [link]
                return ImportedUser(user: user)
            }
            #expect(try alone.accounts.importUsers(users, overwrites: false, in: alone.realm).isEmpty)
        }
        let cluster = try SharedFixture(count: 0)
        try cluster.add(AccountsFixture(in: folder) { $0.areShared = true }, 0)
        try cluster.nodes[0].waitUntilComplete()
        #expect(cluster.log.state.withLock { $0.commits.count } > 1)
        try cluster.add(AccountsFixture { $0.areShared = true }, 1)
        try cluster.nodes[1].waitUntilComplete()
        #expect(try cluster.nodes[1].signIn("ada@example.com").user.id == id)
        #expect(try cluster.nodes[1].user("user39").links.first?.displayName?.utf8.count == 500_000)

        let other = TemporaryFolder()
        do { _ = try AccountsFixture(in: other).signUp("bob@example.com") }
        let stranger = try AccountsFixture(in: other) { $0.areShared = true }
        let problem = Mutex<StorageError?>(nil)
        let isTold = Semaphore()
        stranger.accounts.observeStorage { error in
            problem.withLock { $0 = error }
            if case .damaged? = error { isTold.signal() }
        }
        try cluster.add(stranger, 2)
        try #require(isTold.wait(atMost: Patience.limit))
        #expect(problem.withLock { $0?.message.contains("not those of the cluster") } == true)
        let failure = AccountFailure.storage(try #require(problem.withLock { $0 }))
        #expect(throws: failure) { try stranger.signUp("eve@example.com") }
    }

    @Test("when the log has lost its end, every node forgets what it had of that")
    func lostEnd() throws {
        let cluster = try SharedFixture()
        _ = try cluster.nodes[0].signUp("kept@example.com")
        let count = cluster.log.state.withLock { $0.commits.count }
        let lost = try cluster.nodes[0].signUp("lost@example.com").user.id
        for node in cluster.nodes { #expect(try node.user(lost).email == "lost@example.com") }
        cluster.log.state.withLock { state in
            state.commits.removeLast(state.commits.count - count)
            state.rows = [:]
            for row in state.commits.flatMap(\.rows) {
                state.rows[.init(table: row.table, key: row.key)] = row.columns == nil ? nil : row
            }
            state.past.insert(state.epoch)
            state.epoch += 1
        }
        // Other commits have the numbers and versions of those that are lost.
        for index in 0..<2 { _ = try cluster.nodes[1].signUp("new\(index)@example.com") }
        for node in cluster.nodes {
            #expect(try node.accounts.lookUp([.id(lost)], in: node.realm).isEmpty)
            for name in ["kept", "new0", "new1"] { _ = try node.signIn("\(name)@example.com") }
        }
    }

    @Test(
        "a node that was away for longer than the log reaches back reads all accounts, and forgets those that are gone")
    func returning() throws {
        let cluster = try SharedFixture(count: 1)
        let folder = TemporaryFolder()
        let gone = try cluster.nodes[0].signUp("gone@example.com").user.id
        do {
            let away = try AccountsFixture(in: folder) { $0.areShared = true }
            try cluster.add(away, 1)
            try away.waitUntilComplete()
            #expect(try away.user(gone).email == "gone@example.com")
            away.accounts.endSharing()
            cluster.removeLast()
        }
        try cluster.nodes[0].accounts.delete(user: gone, in: cluster.nodes[0].realm)
        let stayed = try cluster.nodes[0].signUp("stayed@example.com").user.id
        cluster.log.trim()
        try cluster.add(AccountsFixture(in: folder) { $0.areShared = true }, 1)
        try cluster.nodes[1].waitUntilComplete()
        #expect(try cluster.nodes[1].user(stayed).email == "stayed@example.com")
        #expect(try cluster.nodes[1].accounts.lookUp([.id(gone)], in: cluster.nodes[1].realm).isEmpty)
    }

    @Test("names that are too long to be shared are refused, and nothing else of the same time is")
    func longNames() throws {
        let cluster = try SharedFixture(count: 2)
        let (first, second) = (cluster.nodes[0], cluster.nodes[1])
        let problem = Mutex<StorageError?>(nil)
        first.accounts.observeStorage { error in problem.withLock { $0 = $0 ?? error } }
        let rawID = String(repeating: "x", count: 600)
        let users = ["a", "b"].map { id in
            var user = User(id: id, createdAt: 1)
            user.links = [ProviderLink(provider: "oidc.a", rawID: id == "a" ? rawID : String(rawID.prefix(255)))]
            return ImportedUser(user: user)
        }
        let problems = try first.accounts.importUsers(users, overwrites: false, in: first.realm)
        #expect(problems.map(\.index) == [0])
        #expect(problems.map(\.message) == ["rawId is too long"])
        #expect(try second.user("b").links == users[1].user.links)
        let ann = try first.signUp("ann@example.com").user
        var change = UserChange()
        change.link = ProviderLink(provider: "oidc.a", rawID: rawID)
        expectRefusal(.invalidArgument) { try first.accounts.update(.user(ann.id), change, in: first.realm) }
        let control = String(repeating: "\\u0001", count: 128)
        let token = try CustomToken(trusting: Array(#"{"uid":"\#(control)"}"#.utf8))
        expectRefusal(.invalidArgument) { try first.accounts.signIn(token, in: first.realm) }
        #expect(try second.user(ann.id).links.isEmpty)
        #expect(problem.withLock { $0 } == nil)
    }

    @Test("a node that has missed commits hears what users have lost by them once it has read all accounts")
    func missedRevocations() throws {
        let cluster = try SharedFixture(count: 2)
        let first = cluster.nodes[0]
        let users = try (0..<5).map { try first.signUp("u\($0)@example.com").user }
        _ = try cluster.nodes[1].user(users[0].id)
        // The other node hears nothing for a while.
        let deaf = cluster.log.accounts.withLock { $0.removeLast() }
        first.clock.advance(seconds: 10)
        var change = UserChange()
        change.isDisabled = true
        _ = try first.accounts.update(.user(users[0].id), change, in: first.realm)
        try first.accounts.delete(user: users[1].id, in: first.realm)
        change = UserChange()
        change.validSince = first.clock.now / 1000
        let validSince = try first.accounts.update(.user(users[2].id), change, in: first.realm).user.validSince
        change = UserChange()
        change.displayName = "Ann"
        _ = try first.accounts.update(.user(users[3].id), change, in: first.realm)
        cluster.log.trim()
        cluster.log.state.withLock { $0.brokenReads = 1 }
        cluster.log.accounts.withLock { $0.append(deaf) }
        let expected: Set<Revocation> = [
            Revocation(realm: first.realm, user: users[0].id, loss: .disabled),
            Revocation(realm: first.realm, user: users[1].id, loss: .account),
            Revocation(realm: first.realm, user: users[2].id, loss: .tokensBefore(validSince)),
        ]
        var told: [Revocation] = []
        try blockUntil("the losses") {
            cluster.log.arrived()
            told = cluster.log.revoked.withLock { $0[1] ?? [] }
            return told.count >= expected.count
        }
        #expect(told.count == expected.count)
        #expect(Set(told) == expected)
        #expect(try cluster.nodes[1].user(users[3].id).displayName == "Ann")
    }

    @Test("a new node reads all accounts if the log does not reach back to its beginning")
    func joining() throws {
        let cluster = try SharedFixture(count: 1)
        let id = try cluster.nodes[0].signUp("ada@example.com").user.id
        cluster.log.trim()
        try cluster.add(AccountsFixture { $0.areShared = true }, 1)
        try cluster.nodes[1].waitUntilComplete()
        #expect(try cluster.nodes[1].signIn("ada@example.com").user.id == id)
    }

    @Test("a node that gets very many messages goes on")
    func manyMessages() throws {
        let cluster = try SharedFixture(count: 1)
        let id = try cluster.nodes[0].signUp("ada@example.com").user.id
        cluster.log.trim()
        try cluster.add(AccountsFixture { $0.areShared = true }, 1)
        try cluster.nodes[1].waitUntilComplete()
        let tell = try #require(cluster.log.readers.withLock { $0.last })
        for _ in 0..<80 {
            for _ in 0..<1000 { tell([]) }
            #expect(try cluster.nodes[1].user(id).email == "ada@example.com")
        }
    }

    @Test("requests to a node that reads all accounts are answered once it has them")
    func askedWhileReading() throws {
        let cluster = try SharedFixture(count: 1)
        let id = try cluster.nodes[0].signUp("ada@example.com").user.id
        cluster.log.trim()
        let new = try AccountsFixture { $0.areShared = true }
        let (isReading, mayRead) = (Semaphore(), Semaphore())
        cluster.log.beforeReading.withLock { body in
            body = {
                isReading.signal()
                mayRead.wait()
            }
        }
        try cluster.add(new, 1)
        try #require(isReading.wait(atMost: Patience.limit))
        let answers = Mutex<[Result<String?, any Error>]>([])
        let isAnswered = Semaphore()
        let (accounts, realm) = (new.accounts, new.realm)
        let requests: [@Sendable () throws -> String?] = [
            { try accounts.lookUp([.id(id)], in: realm).first?.id },
            { try accounts.signIn(email: "ada@example.com", password: "secret1", in: realm, from: "test").user.id },
        ]
        let threads = try requests.map { request in
            try NamedThread(name: "request") {
                let answer = Result(catching: request)
                answers.withLock { $0.append(answer) }
                isAnswered.signal()
            }
        }
        #expect(!isAnswered.wait(atMost: .milliseconds(50)), "refused at once")
        mayRead.signal()
        for thread in threads { thread.join() }
        #expect(try answers.withLock { try $0.map { try $0.get() } } == [id, id])
    }

    @Test("accounts of a server that was a node, and is alone, are not taken for those of the cluster")
    func leaving() throws {
        let cluster = try SharedFixture(count: 1)
        let folder = TemporaryFolder()
        do {
            let node = try AccountsFixture(in: folder) { $0.areShared = true }
            try cluster.add(node, 1)
            try node.waitUntilComplete()
            _ = try node.signUp("ada@example.com")
            node.accounts.endSharing()
            cluster.removeLast()
        }
        do { _ = try AccountsFixture(in: folder).signUp("alone@example.com") }
        let node = try AccountsFixture(in: folder) { $0.areShared = true }
        let isTold = Semaphore()
        node.accounts.observeStorage { if case .damaged? = $0 { isTold.signal() } }
        try cluster.add(node, 1)
        try #require(isTold.wait(atMost: Patience.limit))
        let error = #expect(throws: AccountFailure.self) { try node.signUp("eve@example.com") }
        guard case .storage(.damaged(let text))? = error else { throw error ?? .busy }
        #expect(text.contains("not those of the cluster"))
    }

    @Test("accounts that were restored from a node's backup become those of a new cluster", arguments: [1, 7])
    func restoring(epoch: UInt64) throws {
        let folder = TemporaryFolder()
        do {
            let old = try SharedFixture(count: 1)
            let node = try AccountsFixture(in: folder) { $0.areShared = true }
            try old.add(node, 1)
            try node.waitUntilComplete()
            _ = try node.signUp("ada@example.com")
            node.accounts.endSharing()
            old.removeLast()
        }
        let new = try SharedFixture(count: 0)
        new.log.state.withLock { $0.epoch = epoch }
        try new.add(AccountsFixture(in: folder) { $0.areShared = true }, 0)
        try new.nodes[0].waitUntilComplete()
        try new.add(AccountsFixture { $0.areShared = true }, 1)
        try new.nodes[1].waitUntilComplete()
        #expect(try new.nodes[1].signIn("ada@example.com").user.email == "ada@example.com")
    }

    @Test("accounts of another cluster are refused, and stay in their file")
    func strangers() throws {
        let folder = TemporaryFolder()
        do {
            let other = try SharedFixture(count: 1)
            let node = try AccountsFixture(in: folder) { $0.areShared = true }
            try other.add(node, 1)
            try node.waitUntilComplete()
            _ = try node.signUp("ada@example.com")
            node.accounts.endSharing()
            other.removeLast()
        }
        let cluster = try SharedFixture(count: 0)
        cluster.log.state.withLock { $0.epoch = 7 }
        try cluster.add(AccountsFixture { $0.areShared = true }, 0)
        try cluster.nodes[0].waitUntilComplete()
        for name in ["bob", "eve", "joe"] { _ = try cluster.nodes[0].signUp("\(name)@example.com") }
        do {
            let node = try AccountsFixture(in: folder) { $0.areShared = true }
            let isTold = Semaphore()
            node.accounts.observeStorage { if case .damaged? = $0 { isTold.signal() } }
            try cluster.add(node, 1)
            try #require(isTold.wait(atMost: Patience.limit))
            node.accounts.endSharing()
            cluster.removeLast()
        }
        let alone = try AccountsFixture(in: folder)
        #expect(try alone.signIn("ada@example.com").user.email == "ada@example.com")
    }

    @Test("no address is given twice and no account is lost while several nodes write and answers of the log are lost")
    func faults() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        let cluster = try SharedFixture(seed: seed)
        cluster.log.state.withLock { $0.isFaulty = true }
        // Each node adds users of its own, and all try to be the one that has an address.
        let acknowledged = Mutex<[[String]]>([[], [], []])
        let winners = Mutex<[String]>([])
        var threads: [NamedThread] = []
        for (index, node) in cluster.nodes.enumerated() {
            let (accounts, realm) = (node.accounts, node.realm)
            threads.append(
                try NamedThread(name: "writer") {
                    for number in 0..<20 * TestScale.factor {
                        var new = NewUser()
                        new.password = "secret1"
                        new.email = "n\(index)-\(number)@example.com"
                        if let user = try? accounts.signUp(new, in: realm).user {
                            acknowledged.withLock { $0[index].append(user.email ?? "") }
                        }
                        new.email = "common\(number)@example.com"
                        if let user = try? accounts.signUp(new, in: realm).user {
                            winners.withLock { $0.append(user.email ?? "") }
                        }
                    }
                })
        }
        for thread in threads { thread.join() }
        cluster.log.state.withLock { $0.isFaulty = false }
        let twice = Dictionary(grouping: winners.withLock { $0 }, by: \.self).filter { $0.value.count > 1 }
        #expect(twice.isEmpty, "several have the address")
        for node in cluster.nodes {
            for name in acknowledged.withLock({ $0 }).joined() {
                #expect(try node.accounts.lookUp([.email(name)], in: node.realm).count == 1, "\(name) is lost")
            }
        }
        let pages = try cluster.nodes.map { try $0.accounts.users(in: $0.realm, after: "", limit: 100_000) }
        #expect(pages[0] == pages[1])
        #expect(pages[1] == pages[2])
        #expect(pages[0].count >= 60 * TestScale.factor)
    }
}
