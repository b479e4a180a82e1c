import HearthEtcdMessages
import HearthTestSupport
import Testing

/// Replies with the fields that etcd 3.4 gives them.
@Suite("Replies of etcd") struct ReplyTests {
    private static let header = WrittenField.message(
        1,
        [
            .unsigned(1, 15_118_495_548_433_857_066), .unsigned(2, 13_668_033_151_171_901_709), .number(3, 5),
            .number(4, 2),
        ])
    private static let owner: [UInt8] = Array("h/owner".utf8)
    private static let claim = EtcdTransaction(
        if: [.init(owner, .equal, .createRevision(0))], then: [.put(key: owner, value: [1], lease: 3)],
        else: [.range(EtcdRange(.key(owner)))], isRepeatable: true)

    /// The reply with the header and these fields.
    private func reply<Call: EtcdCall>(_ call: Call, _ fields: [WrittenField] = []) throws -> Call.Reply {
        try call.reply(encoded([Self.header] + fields)).reply
    }

    private func error(_ call: some EtcdCall, _ message: [UInt8]) -> EtcdError? {
        do throws(EtcdError) {
            _ = try call.reply(message)
            return nil
        } catch {
            return error
        }
    }

    @Test("headers carry numbers that do not fit 63 bits") func headers() throws {
        let header = try EtcdPut(key: [1], value: []).reply(encoded([Self.header])).header
        #expect(header.cluster == 15_118_495_548_433_857_066)
        #expect(header.member == 13_668_033_151_171_901_709)
        #expect(header.revision == 5)
        #expect(header.raftTerm == 2)
        #expect(try reply(EtcdPut(key: [1], value: [])) == 5)
    }

    @Test("numbers that etcd never gives are refused, and so is the failure of what has no conditions")
    func impossible() {
        let unconditional = EtcdTransaction(then: [.range(EtcdRange(.key([1])))], isRepeatable: true)
        #expect(
            error(unconditional, encoded([Self.header]))
                == .malformedReply("a transaction without conditions has failed"))
        for field: WrittenField in [.number(2, -1), .number(3, -1)] {
            let value = WrittenField.message(2, [.text(1, "a"), field])
            #expect(error(EtcdRange(.key([1])), encoded([Self.header, value]))?.mayHaveBeenApplied == true)
        }
        let lease = encoded([Self.header, .number(2, 7), .number(3, .min)])
        #expect(error(EtcdGrantLease(7, seconds: 3), lease)?.mayHaveBeenApplied == true)
    }

    @Test("zero, false and empty fields are left out") func range() throws {
        let call = EtcdRange(.key([1]))
        #expect(try reply(call) == EtcdRangeReply(revision: 5, values: [], hasMore: false))
        let found: [WrittenField] = [
            // Key, creation, modification, version, value, lease.
            .message(
                2, [.text(1, "a/1"), .number(2, 2), .number(3, 5), .number(4, 2), .text(5, "uno"), .number(6, -7)]),
            .message(2, [.text(1, "a/2"), .number(2, 3), .number(3, 3)]),
            .flag(3), .number(4, 9),
        ]
        #expect(
            try reply(call, found)
                == EtcdRangeReply(
                    revision: 5,
                    values: [
                        EtcdKeyValue(
                            key: Array("a/1".utf8), value: Array("uno".utf8), createRevision: 2, modRevision: 5,
                            lease: -7),
                        EtcdKeyValue(key: Array("a/2".utf8), value: [], createRevision: 3, modRevision: 3),
                    ], hasMore: true))
    }

    @Test("a transaction whose comparison fails is a success of gRPC") func transaction() throws {
        let innerHeader = WrittenField.message(1, [.number(3, 10)])
        let taken: [WrittenField] = [.flag(2), .message(3, [.message(2, [innerHeader])])]
        #expect(try reply(Self.claim, taken) == EtcdTransactionReply(revision: 5, hasSucceeded: true, results: [.put]))
        let value = WrittenField.message(
            2,
            [
                .bytes(1, Self.owner), .number(2, 10), .number(3, 10), .number(4, 1), .text(5, "n1"),
                .number(6, 7_627_868_533_486_616_853),
            ])
        let answer = try reply(Self.claim, [.message(3, [.message(1, [innerHeader, value, .number(4, 1)])])])
        #expect(!answer.hasSucceeded)
        #expect(answer.values(0).first?.createRevision == 10)
        #expect(answer.values(0).first?.lease == 7_627_868_533_486_616_853)
        #expect(try reply(Self.claim, [.message(3, [.message(1, [innerHeader])])]).values(0).isEmpty)
        #expect(try reply(Self.claim, [.message(3, [.message(1, [])])]).values(0).isEmpty)
    }

    @Test("a transaction has a result for each operation") func results() throws {
        let transaction = EtcdTransaction(
            then: [.delete(.key([1])), .put(key: [2], value: []), .delete(.key([3])), .range(EtcdRange(.key([4])))],
            isRepeatable: false)
        let answer = try reply(
            transaction,
            [
                .flag(2), .message(3, [.message(3, [.number(2, 8)])]), .message(3, [.message(2, [])]),
                .message(3, [.message(3, [])]), .message(3, [.message(1, [.flag(3)])]),
            ])
        #expect(
            answer.results == [
                .deleted(count: 8), .put, .deleted(count: 0),
                .range(EtcdRangeReply(revision: 5, values: [], hasMore: true)),
            ])
    }

    @Test("a lease that has ended is renewed without an error and without time") func leases() throws {
        #expect(try reply(EtcdGrantLease(77, seconds: 1), [.number(2, 77), .number(3, 2)]) == 2)
        #expect(try reply(EtcdKeepLeaseAlive(77), [.number(2, 77), .number(3, 10)]) == 10)
        #expect(error(EtcdKeepLeaseAlive(77), encoded([Self.header, .number(2, 77)])) == .leaseNotFound)
        try reply(EtcdRevokeLease(77))
        let other = encoded([Self.header, .number(2, 77), .number(3, 10)])
        #expect(error(EtcdKeepLeaseAlive(78), other) == .malformedReply("another lease was renewed"))
        #expect(error(EtcdGrantLease(78, seconds: 1), other) == .malformedReply("another lease was granted"))
    }

    @Test("a member without a leader leaves it out of its status") func status() throws {
        let fields: [WrittenField] = [
            .text(2, "3.4.23"), .number(3, 20480), .number(4, 12), .number(5, 70), .number(6, 2), .number(7, 70),
            .text(8, "memberID:123 alarm:NOSPACE "), .number(9, 16384), .flag(10),
        ]
        let status = try reply(EtcdStatus(), fields)
        #expect(status.leader == 12)
        #expect(status.version == "3.4.23")
        #expect(status.fileBytes == 20480)
        #expect(status.usedBytes == 16384)
        #expect(status.isFull)
        #expect(status.cluster == 15_118_495_548_433_857_066)
        #expect(status.member == 13_668_033_151_171_901_709)
        #expect(try reply(EtcdStatus()).leader == nil)
        #expect(try !reply(EtcdStatus(), [.text(8, "etcdserver: no leader")]).isFull)
    }

    @Test("a member that has not started yet has no name") func members() throws {
        let members = try reply(
            EtcdMemberList(),
            [
                .message(
                    2, [.number(1, 9), .text(2, "m1"), .text(3, "http://a:1"), .text(4, "http://a:2"), .text(4, "b")]),
                .message(2, [.unsigned(1, .max), .text(3, "http://b:1"), .flag(5)]),
            ])
        #expect(members.map(\.id) == [9, .max])
        #expect(members.map(\.name) == ["m1", ""])
        #expect(members.map(\.clientURLs) == [["http://a:2", "b"], []])
    }

    @Test(
        "errors are told apart by code and text",
        arguments: [
            (3, "etcdserver: key is not provided", EtcdError.invalidRequest("etcdserver: key is not provided")),
            (3, "etcdserver: request is too large", .tooLarge),
            (8, "grpc: received message larger than max (2097298 vs. 2097152)", .tooLarge),
            (8, "etcdserver: mvcc: database space exceeded", .noSpace),
            (8, "etcdserver: too many requests", .overloaded),
            (11, "etcdserver: mvcc: required revision has been compacted", .compacted(oldest: nil)),
            (11, "etcdserver: mvcc: required revision is a future revision", .futureRevision),
            (5, "etcdserver: requested lease not found", .leaseNotFound),
            (9, "etcdserver: lease already exists", .leaseExists),
            (12, "unknown method Rang", .invalidRequest("unknown method Rang")),
            (7, "etcdserver: permission denied", .denied("etcdserver: permission denied")),
            (16, "etcdserver: invalid auth token", .denied("etcdserver: invalid auth token")),
            (14, "etcdserver: no leader", .noLeader),
            (14, "etcdserver: request timed out", .outcomeUnknown("etcdserver: request timed out")),
            (13, "stream terminated by RST_STREAM", .outcomeUnknown("stream terminated by RST_STREAM")),
            (2, "context deadline exceeded", .outcomeUnknown("context deadline exceeded")),
            (4, "context deadline exceeded", .outcomeUnknown("context deadline exceeded")),
            (99, "", .outcomeUnknown("")), (-1, "", .outcomeUnknown("")),
        ] as [(Int, String, EtcdError)])
    func errors(code: Int, message: String, expected: EtcdError) {
        #expect(EtcdError(code: code, message: message) == expected)
    }

    /// Replies to `claim` that etcd would not give.
    private static let hostileReplies: [(String, [UInt8])] = [
        ("nothing", []),
        ("text", Array("<html></html>".utf8)),
        ("no header", encoded([.flag(2), .message(3, [.message(2, [])])])),
        ("a header that is a number", encoded([.number(1, 5)])),
        ("a header that is cut off", encoded([.bytes(1, [0x18])])),
        ("a reply that is cut off", encoded([header]).dropLast()),
        ("a field without a number", encoded([header]) + [0, 0]),
        ("a revision that is text", encoded([.message(1, [.text(3, "five")])])),
        ("a negative revision", encoded([.message(1, [.number(3, -1)])])),
        ("the last revision", encoded([.message(1, [.number(3, .max)])])),
        ("a cluster that is text", encoded([.message(1, [.text(1, "one"), .number(3, 5)])])),
        ("success without a result", encoded([header, .flag(2)])),
        ("success that is text", encoded([header, .text(2, "yes"), .message(3, [.message(2, [])])])),
        ("the result of another operation", encoded([header, .flag(2), .message(3, [.message(1, [])])])),
        ("no result of an operation", encoded([header, .flag(2), .message(3, [])])),
        (
            "too many results",
            encoded([header, .flag(2), .message(3, [.message(2, [])]), .message(3, [.message(2, [])])])
        ),
        ("a result that is a number", encoded([header, .number(3, 1)])),
        ("a range that is a number", encoded([header, .message(3, [.number(1, 1)])])),
        ("a value that is a number", encoded([header, .message(3, [.message(1, [.number(2, 1)])])])),
        ("a key that is a number", encoded([header, .message(3, [.message(1, [.message(2, [.number(1, 1)])])])])),
        ("a key that is cut off", encoded([header, .message(3, [.message(1, [.bytes(2, [0x0A, 2, 0x61])])])])),
    ]

    @Test("that etcd would not give leave the outcome open", arguments: hostileReplies)
    func hostile(name: String, message: [UInt8]) {
        let error = error(Self.claim, message)
        #expect(error?.mayHaveBeenApplied == true, "\(String(describing: error))")
        guard case .malformedReply = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("damaged at random never stop the program", arguments: 0..<200 as Range<UInt64>)
    func damaged(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let value: [WrittenField] = [.text(1, "a/1"), .number(2, 2), .number(3, 5), .number(4, 2), .text(5, "uno")]
        var message = encoded([Self.header, .flag(2), .message(3, [.message(1, [.message(2, value)])])])
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0..<message.count, using: &random)
            let byte = UInt8.random(in: 0...255, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: message[index] = byte
            case 1: message.remove(at: index)
            default: message.insert(byte, at: index)
            }
        }
        let range = EtcdTransaction(then: [.range(EtcdRange(.key([1])))], isRepeatable: true)
        do throws(EtcdError) {
            let (_, reply) = try range.reply(message)
            #expect(reply.results.count == (reply.hasSucceeded ? 1 : 0), "seed \(seed)")
        } catch {
            #expect(error.mayHaveBeenApplied, "seed \(seed)")
        }
    }
}
