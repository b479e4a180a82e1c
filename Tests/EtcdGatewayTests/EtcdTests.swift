import HearthEtcdMessages
import HearthEventLoop
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthEtcdGateway

/// The distribution's etcd must understand our requests, and we its answers.
@Suite("A real etcd", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .serialized)
struct EtcdTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// - parameter isPatient: where there is no other member to try, connecting and each call may take long on a busy
    /// machine: large values, calls that must not be made twice, watches, which try to connect once.
    private func cluster(_ servers: EtcdServers, tls: TLSContext? = nil, isPatient: Bool = true) -> EtcdCluster {
        var timeouts = EtcdCluster.Timeouts()
        if isPatient { (timeouts.connecting, timeouts.attempt) = (Patience.limit, Patience.limit) }
        return EtcdCluster(
            servers.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }, tls: tls, timeouts: timeouts)
    }

    private func error(_ body: () throws(EtcdError) -> Void) -> EtcdError? {
        do throws(EtcdError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test("takes every kind of call") func calls() throws {
        let servers = try EtcdServers(count: 1)
        let cluster = cluster(servers)
        let client = EtcdClient(cluster)
        // Reading and writing, with bytes of all kinds.
        let every = Array(UInt8.min...UInt8.max)
        let first = try client.call(EtcdPut(key: bytes("a/1"), value: every), within: Patience.limit)
        let second = try client.call(EtcdPut(key: bytes("a/") + [0xFF], value: []), within: Patience.limit)
        #expect(second == first + 1)
        var range = try client.call(EtcdRange(.prefix(bytes("a/"))), within: Patience.limit)
        #expect(
            range.values == [
                EtcdKeyValue(key: bytes("a/1"), value: every, createRevision: first, modRevision: first),
                EtcdKeyValue(key: bytes("a/") + [0xFF], value: [], createRevision: second, modRevision: second),
            ])
        #expect(!range.hasMore)
        range = try client.call(
            EtcdRange(.prefix(bytes("a/")), limit: 1, isDescending: true, keysOnly: true, isSerializable: true),
            within: Patience.limit)
        #expect(range.values.map(\.key) == [bytes("a/") + [0xFF]])
        #expect(range.hasMore)

        // Leases.
        #expect(try client.call(EtcdGrantLease(77, seconds: 30), within: Patience.limit) == 30)
        #expect(
            error { () throws(EtcdError) in _ = try client.call(EtcdGrantLease(77, seconds: 30), within: Patience.limit)
            }
                == .leaseExists)
        #expect(try client.call(EtcdKeepLeaseAlive(77), within: Patience.limit) == 30)
        #expect(
            error { () throws(EtcdError) in _ = try client.call(EtcdKeepLeaseAlive(78), within: Patience.limit) }
                == .leaseNotFound)

        // A claim, an append below it, and the same append once more.
        let claim = EtcdTransaction(
            if: [.init(bytes("owner"), .equal, .createRevision(0))],
            then: [.put(key: bytes("owner"), value: bytes("n1"), lease: 77), .put(key: bytes("head"), value: [0])],
            else: [.range(EtcdRange(.key(bytes("owner"))))], isRepeatable: true)
        let claimed = try client.call(claim, within: Patience.limit)
        #expect(claimed.hasSucceeded)
        #expect(claimed.results == [.put, .put])
        #expect(try client.call(claim, within: Patience.limit).values(0).first?.createRevision == claimed.revision)
        let append = EtcdTransaction(
            if: [
                .init(bytes("owner"), .equal, .createRevision(claimed.revision)),
                .init(bytes("head"), .equal, .value([0])),
            ],
            then: [.put(key: bytes("log/1"), value: [9]), .put(key: bytes("head"), value: [1])],
            else: [.range(EtcdRange(.key(bytes("owner")))), .range(EtcdRange(.key(bytes("head"))))],
            isRepeatable: true)
        #expect(try client.call(append, within: Patience.limit).hasSucceeded)
        let repeated = try client.call(append, within: Patience.limit)
        #expect(!repeated.hasSucceeded)
        #expect(repeated.values(1).first?.value == [1])
        #expect(repeated.values(0).first?.lease == 77)

        // The end of the lease takes the key along.
        try client.call(EtcdRevokeLease(77), within: Patience.limit)
        let after = try client.call(append, within: Patience.limit)
        #expect(!after.hasSucceeded)
        #expect(after.values(0).isEmpty)
        #expect(
            error { () throws(EtcdError) in _ = try client.call(claim, within: Patience.limit) } == .leaseNotFound)

        // Comparisons of other kinds, and deleting.
        let trim = EtcdTransaction(
            if: [
                .init(bytes("head"), .greater, .createRevision(1)), .init(bytes("head"), .notEqual, .value([7])),
                .init(bytes("head"), .less, .modRevision(1 << 40)), .init(bytes("head"), .equal, .lease(0)),
            ], then: [.delete(.keys(from: bytes("log/"), upTo: bytes("log0")))], isRepeatable: true)
        #expect(try client.call(trim, within: Patience.limit).results == [.deleted(count: 1)])
        #expect(try client.call(trim, within: Patience.limit).results == [.deleted(count: 0)])
        // The value of a key that is not there equals nothing, and differs from nothing.
        for relation in [EtcdTransaction.Comparison.Relation.equal, .notEqual] {
            let never = EtcdTransaction(
                if: [.init(bytes("none"), relation, .value([]))], then: [], isRepeatable: true)
            #expect(try !client.call(never, within: Patience.limit).hasSucceeded)
        }

        // Errors.
        let twice = EtcdTransaction(
            then: [.put(key: [1], value: []), .put(key: [1], value: [])], isRepeatable: true)
        guard
            case .invalidRequest = error({ () throws(EtcdError) in _ = try client.call(twice, within: Patience.limit) })
        else { throw EtcdError.invalidRequest("two writes of a key were taken") }
        for size in [1_600_000, 2_200_000] {
            let large = EtcdPut(key: [1], value: [UInt8](repeating: 0, count: size))
            #expect(error { () throws(EtcdError) in _ = try client.call(large, within: Patience.limit) } == .tooLarge)
        }

        // Compaction.
        let present = try client.call(EtcdPut(key: bytes("c"), value: [1]), within: Patience.limit)
        try client.call(EtcdCompact(present), within: Patience.limit)
        #expect(
            error { () throws(EtcdError) in try client.call(EtcdCompact(present), within: Patience.limit) }
                == .compacted(oldest: nil))
        #expect(
            error { () throws(EtcdError) in try client.call(EtcdCompact(present + 100), within: Patience.limit) }
                == .futureRevision)
        let watch = try EtcdWatchStream(
            EtcdWatch(.key(bytes("c")), from: 1), of: cluster, member: 0, deadline: .current + Patience.limit)
        var events: [EtcdWatchEvent] = []
        let ended = error { () throws(EtcdError) in
            while true { events += try watch.events(until: .current + Patience.limit) }
        }
        #expect(events == [.opened])
        #expect(ended == .compacted(oldest: present))

        let status = try client.call(EtcdStatus(), within: Patience.limit)
        #expect(status.leader == status.member)
        #expect(status.usedBytes > 0)
        let members = try client.call(EtcdMemberList(), within: Patience.limit)
        #expect(members.map(\.name) == ["m1"])
        #expect(members.map(\.id) == [status.member])
    }

    @Test("a watch gives each change once, from the revision asked for, and signs of life") func watches() throws {
        let servers = try EtcdServers(count: 1)
        let cluster = cluster(servers)
        let client = EtcdClient(cluster)
        let value = [UInt8](repeating: 0xAB, count: 700_000)
        var revisions: [Int64] = []
        for number in 0..<6 as Range<UInt8> {
            revisions.append(
                try client.call(EtcdPut(key: bytes("w/") + [number], value: value), within: Patience.limit))
        }
        let stream = try EtcdWatchStream(
            EtcdWatch(.prefix(bytes("w/")), from: revisions[1]), of: cluster, member: 0,
            deadline: .current + Patience.limit)
        var changes: [EtcdChange] = []
        var hasProgress = false
        while changes.count < 5 || !hasProgress {
            for event in try stream.events(until: .current + Patience.limit) {
                switch event {
                case .opened: break
                case .changes(let some): changes += some
                case .progress(let revision): if changes.count == 5 { hasProgress = revision >= revisions[5] }
                }
            }
        }
        // 3.5 MB came in fragments; nothing is missing or twice.
        #expect(changes.map(\.revision) == Array(revisions[1...]))
        #expect(stream.next == revisions[5] + 1)
        let deleted = try client.call(
            EtcdTransaction(then: [.delete(.prefix(bytes("w/")))], isRepeatable: true), within: Patience.limit)
        changes = []
        while changes.isEmpty {
            for case .changes(let some) in try stream.events(until: .current + Patience.limit) { changes += some }
        }
        #expect(changes == (0..<6).map { .delete(key: bytes("w/") + [$0], revision: deleted.revision) })
    }

    @Test("continues while members are killed and paused, and stops without a majority") func failures() throws {
        let servers = try EtcdServers(count: 3)
        let client = EtcdClient(cluster(servers, isPatient: false))
        let key = bytes("k")
        // A write that may be repeated: it says from which value to which.
        func advance(to value: UInt8) throws(EtcdError) {
            let step = EtcdTransaction(
                if: [.init(key, .equal, .value([value - 1]))], then: [.put(key: key, value: [value])],
                else: [.range(EtcdRange(.key(key)))], isRepeatable: true)
            let reply = try client.call(step, within: Patience.limit)
            if !reply.hasSucceeded, reply.values(0).first?.value != [value] {
                throw .malformedReply("the value is neither the old one nor the new one")
            }
        }
        // It is not made twice, and the members have only just begun.
        _ = try EtcdClient(cluster(servers)).call(EtcdPut(key: key, value: [0]), within: Patience.limit)
        var value: UInt8 = 0
        for member in 0..<3 {
            servers.pause(member)
            value += 1
            try advance(to: value)
            servers.resume(member)
            servers.kill(member)
            value += 1
            try advance(to: value)
            try servers.start(member)
            value += 1
            try advance(to: value)
        }
        #expect(try client.call(EtcdRange(.key(key)), within: Patience.limit).values.first?.value == [value])
        servers.kill(0)
        servers.kill(1)
        // A busy machine may not hear of it within a limit, but not with each.
        var failure: EtcdError?
        for seconds in [3, 6, 12, 24, 48] where failure?.isOfOneMember != true {
            failure = error { () throws(EtcdError) in
                _ = try client.call(EtcdRange(.key(key)), within: .seconds(seconds))
            }
        }
        #expect(failure?.isOfOneMember == true)
        // Without a majority, a member still answers from its memory.
        try servers.start(0)
        #expect(try client.call(EtcdRange(.key(key)), within: Patience.limit).values.first?.value == [value])
    }

    @Test("is reached with TLS, by those who have a certificate") func certificates() throws {
        // Self-signed, so each is its own authority.
        let server = TestCertificate()
        let own = TestCertificate()
        let stranger = TestCertificate()
        let folder = TemporaryFolder()
        let authorities = folder.path + "/authorities.pem"
        TemporaryFolder.write(
            TemporaryFolder.contents(of: server.certificateFile) + TemporaryFolder.contents(of: own.certificateFile),
            to: authorities)
        let servers = try EtcdServers(
            count: 1, certificate: (server.certificateFile, server.keyFile, authorities))
        func context(_ certificate: TestCertificate?) throws -> TLSContext {
            try .client(
                trusting: .file(server.certificateFile),
                certificate: certificate.map { .init(certificateFile: $0.certificateFile, keyFile: $0.keyFile) })
        }
        let client = EtcdClient(cluster(servers, tls: try context(own)))
        #expect(try client.call(EtcdStatus(), within: Patience.limit).version.hasPrefix("3."))
        // With TLS, another part of etcd reads the requests.
        let large = EtcdPut(key: [1], value: [UInt8](repeating: 7, count: 1_000_000))
        #expect(try client.call(large, within: Patience.limit) > 0)
        let read = try client.call(EtcdRange(.key([1])), within: Patience.limit)
        #expect(read.values.first?.value == large.value)
        let tooLarge = EtcdPut(key: [1], value: [UInt8](repeating: 0, count: 2_200_000))
        #expect(error { () throws(EtcdError) in _ = try client.call(tooLarge, within: Patience.limit) } == .tooLarge)
        for certificate in [nil, stranger] {
            let refused = EtcdClient(cluster(servers, tls: try context(certificate)))
            let failure = error { () throws(EtcdError) in _ = try refused.call(EtcdStatus(), within: .seconds(1)) }
            guard case .unavailable = failure else { throw failure ?? .denied("a stranger was let in") }
        }
    }
}
