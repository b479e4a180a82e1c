import HearthEtcdMessages
import HearthTestSupport
import Testing
import HearthReplicatedLog

@Suite("A node removes its files of a database") struct FilesRemovalTests {
    /// A node without part in holding "main", and a cluster in which it may remove its files.
    private final class Cluster {
        var engine = SimulatedEngine()
        var members = ClusterMembers(
            Dictionary(uniqueKeysWithValues: ["n1", "n2", "n3", "n4", "n5"].map { ($0, .member) }))
        var placement = Placement()
        var removal = FilesRemoval(of: "main", at: "n1")
        let keys = LogKeys(database: "main")

        init() {
            for lease in 1...5 { _ = engine.grant(Int64(lease), until: .max) }
            put(ClusterMembers.key, members.bytes)
            see()
            put(keys.head, head(epoch: 7, 100).bytes)
            put(keys.past, LogPast().bytes)
            put(keys.owner, OwnerRecord(node: "n2", incarnation: 2).bytes, lease: 2)
            for node in ["n4", "n2", "n5"] { hold(node, .through(epoch: 7, sequence: 100)) }
            hold("n1", .through(epoch: 7, sequence: 100))
        }

        func head(epoch: UInt64, _ last: UInt64) -> LogHead {
            LogHead(epoch: epoch, lastSequence: last, lastTime: 0, lastAppend: AppendID(term: 1, number: 1))
        }

        func put(_ key: [UInt8], _ value: [UInt8], lease: Int64 = 0) {
            _ = engine.apply(EtcdTransaction(then: [.put(key: key, value: value, lease: lease)], isRepeatable: true))
        }

        func delete(_ key: [UInt8]) {
            _ = engine.apply(EtcdTransaction(then: [.delete(.key(key))], isRepeatable: true))
        }

        func hold(_ node: String, _ held: HeldFiles) {
            put(keys.held(by: node), held.bytes, lease: Int64(node.dropFirst())!)
        }

        func replace(_ change: (inout ClusterMembers) -> Void) {
            change(&members)
            put(ClusterMembers.key, members.bytes)
        }

        /// The node goes by what etcd has.
        func see() {
            let value = engine.values[ClusterMembers.key]
            placement.take(value.map { ($0.value, $0.modRevision) })
        }

        func look(isSettled: Bool = true) -> Result<FilesRemoval.Permit, FilesRemoval.Obstacle> {
            guard case .success(let reply) = engine.apply(removal.look) else { return .failure(.noLog) }
            return Result { () throws(FilesRemoval.Obstacle) in
                try removal.decide(reply, placement, isSettled: isSettled)
            }
        }

        /// Looks twice.
        func permit() throws -> FilesRemoval.Permit {
            #expect(obstacle() == .firstLook)
            return try look().get()
        }

        func obstacle(isSettled: Bool = true) -> FilesRemoval.Obstacle? {
            if case .failure(let obstacle) = look(isSettled: isSettled) { obstacle } else { nil }
        }

        func state(_ permit: FilesRemoval.Permit) -> Bool {
            guard case .success(let reply) = engine.apply(removal.state(permit, lease: 1)) else { return false }
            return FilesRemoval.isStated(reply, by: permit, lease: 1)
        }
    }

    @Test("once all holders have what the log had when it first looked, and says so") func removing() throws {
        let cluster = Cluster()
        #expect(cluster.obstacle() == .firstLook)
        // The log goes on, and holders need not have its present end.
        cluster.put(cluster.keys.head, cluster.head(epoch: 7, 200).bytes)
        cluster.hold("n4", .through(epoch: 7, sequence: 150))
        let permit = try cluster.look().get()
        #expect(cluster.state(permit))
        #expect(cluster.engine.values[cluster.keys.held(by: "n1")]?.value == HeldFiles.nothing.bytes)
        #expect(cluster.engine.values[cluster.keys.kept(by: "n1")] == nil)
        // The answer was lost, and it is tried again.
        #expect(cluster.state(permit))
    }

    @Test(
        "not while a holder has less, copies, or fails, or has nothing, or does not run",
        arguments: ["n4", "n2", "n5"])
    func holders(node: String) throws {
        let cluster = Cluster()
        _ = try cluster.permit()
        let less: [HeldFiles] = [
            .through(epoch: 7, sequence: 99), .through(epoch: 6, sequence: 1000), .copying, .failing,
            .nothing,
        ]
        for held in less {
            cluster.hold(node, held)
            #expect(cluster.obstacle() == .holder(node), "\(held)")
        }
        cluster.put(cluster.keys.held(by: node), [9], lease: 1)
        #expect(cluster.obstacle() == .holder(node))
        cluster.delete(cluster.keys.held(by: node))
        #expect(cluster.obstacle() == .holder(node))
        cluster.hold(node, .through(epoch: 7, sequence: 100))
        #expect(cluster.obstacle() == nil)
    }

    @Test("not by members that are gone, damaged, or others than etcd has") func members() throws {
        let cluster = Cluster()
        _ = try cluster.permit()
        cluster.delete(ClusterMembers.key)
        #expect(cluster.obstacle() == .noMembers)
        cluster.put(ClusterMembers.key, [1, 2, 3])
        #expect(cluster.obstacle() == .noMembers)
        cluster.replace { $0.states["n6"] = .member }
        #expect(cluster.obstacle() == .otherMembers)
        cluster.replace { $0.states["n6"] = nil }
        // The same names, though they were other ones in between: it begins anew.
        #expect(cluster.obstacle() == .firstLook)
        #expect(cluster.obstacle() == nil)
        cluster.placement = Placement(remembering: cluster.members)
        #expect(cluster.obstacle() == .otherMembers)
    }

    @Test("not if it is not a member, is a holder, or there are too few of these") func ownState() throws {
        let cluster = Cluster()
        cluster.replace { $0.states["n1"] = nil }
        cluster.see()
        #expect(cluster.obstacle() == .notMember)
        cluster.replace { $0.states = ["n1": .member, "n2": .member, "n3": .member, "n4": .member] }
        cluster.see()
        #expect(cluster.obstacle() == .firstLook)
        cluster.replace { $0.states["n4"] = nil }
        cluster.see()
        #expect(cluster.obstacle() == .holds)
        cluster.replace { $0.states = ["n1": .draining, "n2": .member, "n3": .member] }
        cluster.see()
        #expect(cluster.obstacle() == .holds)
    }

    @Test("also if it drains, and others hold the database") func draining() throws {
        let cluster = Cluster()
        cluster.replace { $0.states["n1"] = .draining }
        cluster.see()
        let permit = try cluster.permit()
        #expect(cluster.state(permit))
    }

    @Test("not soon after its start") func starting() throws {
        let cluster = Cluster()
        #expect(cluster.obstacle(isSettled: false) == .justStarted)
        _ = try cluster.permit()
        #expect(cluster.obstacle(isSettled: false) == .justStarted)
    }

    @Test("not while the log is gone, or no holder owns it, or it is to be moved") func log() throws {
        let cluster = Cluster()
        _ = try cluster.permit()
        let owner = OwnerRecord(node: "n2", incarnation: 2).bytes
        cluster.delete(cluster.keys.owner)
        #expect(cluster.obstacle() == .owner(nil))
        cluster.put(cluster.keys.owner, OwnerRecord(node: "n1", incarnation: 1).bytes, lease: 1)
        #expect(cluster.obstacle() == .owner("n1"))
        cluster.put(cluster.keys.owner, OwnerRecord(node: "n3", incarnation: 1).bytes, lease: 3)
        #expect(cluster.obstacle() == .owner("n3"))
        cluster.put(cluster.keys.owner, owner, lease: 2)
        cluster.put(cluster.keys.move, MoveRequest.asked(node: "n1").bytes)
        #expect(cluster.obstacle() == .moving)
        cluster.delete(cluster.keys.move)
        cluster.delete(cluster.keys.head)
        #expect(cluster.obstacle() == .noLog)
        // Another history: what the holders have of the one before does not count.
        cluster.put(cluster.keys.head, cluster.head(epoch: 8, 100).bytes)
        #expect(cluster.obstacle() == .firstLook)
        #expect(cluster.obstacle() == .holder("n4"))
    }

    @Test("not if its own files have what the log has not, or never had") func ownFiles() throws {
        let cluster = Cluster()
        cluster.put(cluster.keys.past, LogPast([.init(name: 6, end: 40)]).bytes)
        func obstacle(_ epoch: UInt64?, _ sequence: UInt64) throws -> FilesRemoval.Obstacle? {
            let reply = try cluster.engine.apply(cluster.removal.lookAtHistory).get()
            do throws(FilesRemoval.Obstacle) {
                try FilesRemoval.check(LogPosition(epoch: epoch, sequence: sequence), in: reply)
                return nil
            } catch { return error }
        }
        for (epoch, sequence) in [(7, 100), (7, 1), (6, 40), (nil, 0)] as [(UInt64?, UInt64)] {
            #expect(try obstacle(epoch, sequence) == nil, "\(sequence)")
        }
        for (epoch, sequence) in [(5, 10), (6, 41), (7, 101)] as [(UInt64, UInt64)] {
            #expect(try obstacle(epoch, sequence) == .otherHistory, "\(sequence)")
        }
        cluster.delete(cluster.keys.head)
        #expect(try obstacle(7, 100) == .noLog)
    }

    /// Each change between the look and the removal makes it fail, and the files stay.
    @Test("only if nothing has changed since the look", arguments: 0..<6) func changes(number: Int) throws {
        let cluster = Cluster()
        let permit = try cluster.permit()
        switch number {
        case 0: cluster.replace { $0.states["n5"] = .draining }
        case 1: cluster.put(cluster.keys.past, LogPast([.init(name: 7, end: 0)]).bytes)
        case 2: cluster.put(cluster.keys.owner, OwnerRecord(node: "n1", incarnation: 1).bytes, lease: 1)
        case 3: cluster.hold("n4", .copying)
        case 4: cluster.engine.end(5)
        default: cluster.hold("n1", .through(epoch: 7, sequence: 101))
        }
        #expect(!cluster.state(permit))
        #expect(cluster.engine.values[cluster.keys.held(by: "n1")]?.value != HeldFiles.nothing.bytes)
    }

    @Test("not because it had none before: that says nothing of the files that it has since") func earlier() throws {
        let cluster = Cluster()
        cluster.hold("n1", .nothing)
        let permit = try cluster.permit()
        cluster.hold("n4", .copying)
        #expect(!cluster.state(permit))
    }

    @Test("and no statement that was under way makes others believe that it still has them") func delayed() throws {
        let cluster = Cluster()
        let transactions = LogTransactions(cluster.keys, owner: OwnerRecord(node: "n1", incarnation: 1))
        let before = try #require(cluster.engine.values[cluster.keys.held(by: "n1")]?.modRevision)
        let late = transactions.keep(100, .through(epoch: 7, sequence: 100), after: before, lease: 1)
        #expect(cluster.state(try cluster.permit()))
        guard case .success(let reply) = cluster.engine.apply(late) else {
            Issue.record("the statement has failed")
            return
        }
        #expect(!reply.hasSucceeded)
        #expect(cluster.engine.values[cluster.keys.held(by: "n1")]?.value == HeldFiles.nothing.bytes)
        // With files again, the node says so after it has seen that.
        let revision = try #require(reply.values(1).first?.modRevision)
        let next = transactions.keep(100, .through(epoch: 7, sequence: 100), after: revision, lease: 1)
        #expect((try cluster.engine.apply(next).get()).hasSucceeded)
    }

    @Test("and statements are read as they were written, and nothing else is") func bytes() {
        for held in [HeldFiles.nothing, .copying, .failing, .through(epoch: .max, sequence: 5)] {
            #expect(HeldFiles(held.bytes) == held)
            #expect(HeldFiles(held.bytes + [0]) == nil)
            #expect(HeldFiles(Array(held.bytes.dropLast())) == nil)
            #expect(HeldFiles([2] + held.bytes.dropFirst()) == nil)
        }
    }
}
