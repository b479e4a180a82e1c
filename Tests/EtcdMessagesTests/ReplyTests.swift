import HearthEtcdMessages
import HearthTestSupport
import Testing

/// Replies as etcd 3.4.23 gave them.
@Suite("Replies of etcd") struct ReplyTests {
    private static let header =
        #""header":{"cluster_id":"15118495548433857066","member_id":"13668033151171901709","revision":"5","raft_term":"2"}"#
    private static let owner: [UInt8] = Array("h/owner".utf8)
    private static let claim = EtcdTransaction(
        if: [.init(owner, .equal, .createRevision(0))], then: [.put(key: owner, value: [1], lease: 3)],
        else: [.range(EtcdRange(.key(owner)))], isRepeatable: true)

    private func reply<Call: EtcdCall>(_ call: Call, _ text: String, status: Int = 200) throws -> Call.Reply {
        try call.reply(status: status, body: Array(text.utf8)).reply
    }

    private func error(_ call: some EtcdCall, _ text: String, status: Int = 200) -> EtcdError? {
        do throws(EtcdError) {
            _ = try call.reply(status: status, body: Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test("headers carry numbers that do not fit a double") func headers() throws {
        let header = try EtcdPut(key: [1], value: []).reply(status: 200, body: Array("{\(Self.header)}".utf8)).header
        #expect(header.cluster == 15_118_495_548_433_857_066)
        #expect(header.member == 13_668_033_151_171_901_709)
        #expect(header.revision == 5)
        #expect(header.raftTerm == 2)
    }

    @Test("zero, false and empty members are left out") func range() throws {
        let call = EtcdRange(.key([1]))
        #expect(try reply(call, "{\(Self.header)}") == EtcdRangeReply(revision: 5, values: [], hasMore: false))
        let found =
            #"{"# + Self.header + #","kvs":[{"key":"YS8x","create_revision":"2","mod_revision":"5","version":"2","#
            + #""value":"dW5v","lease":"-7"},{"key":"YS8y","create_revision":"3","mod_revision":"3"}],"more":true,"count":"9"}"#
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

    @Test("a transaction whose comparison fails is a success of HTTP") func transaction() throws {
        let taken =
            "{\(Self.header),"
            + #""succeeded":true,"responses":[{"response_put":{"header":{"revision":"10"}}}]}"#
        #expect(try reply(Self.claim, taken) == EtcdTransactionReply(revision: 5, hasSucceeded: true, results: [.put]))
        let refused =
            "{\(Self.header),"
            + #""responses":[{"response_range":{"header":{"revision":"11"},"kvs":[{"key":"aC9vd25lcg==","create_revision":"10","#
            + #""mod_revision":"10","version":"1","value":"bjE=","lease":"7627868533486616853"}],"count":"1"}}]}"#
        let answer = try reply(Self.claim, refused)
        #expect(!answer.hasSucceeded)
        #expect(answer.values(0).first?.createRevision == 10)
        let nothing = #"{"# + Self.header + #","responses":[{"response_range":{"header":{"revision":"10"}}}]}"#
        #expect(try reply(Self.claim, nothing).values(0).isEmpty)
    }

    @Test("a lease that has ended is renewed with HTTP status 200 and no time") func leases() throws {
        #expect(try reply(EtcdGrantLease(77, seconds: 1), #"{"# + Self.header + #","ID":"77","TTL":"2"}"#) == 2)
        let renewed = #"{"result":{"# + Self.header + #","ID":"77","TTL":"10"}}"# + "\n"
        #expect(try reply(EtcdKeepLeaseAlive(77), renewed) == 10)
        let ended = #"{"result":{"# + Self.header + #","ID":"77"}}"# + "\n"
        #expect(error(EtcdKeepLeaseAlive(77), ended) == .leaseNotFound)
        guard case .malformedReply = error(EtcdKeepLeaseAlive(78), renewed) else {
            Issue.record("the renewal of another lease was believed")
            return
        }
    }

    @Test("a member without a leader leaves it out of its status") func status() throws {
        let text = #"{"# + Self.header + #","version":"3.4.23","dbSize":"20480","leader":"12","dbSizeInUse":"16384"}"#
        let status = try reply(EtcdStatus(), text)
        #expect(status.leader == 12)
        #expect(status.version == "3.4.23")
        #expect(status.usedBytes == 16384)
        #expect(try reply(EtcdStatus(), #"{"# + Self.header + #"}"#).leader == nil)
    }

    @Test("a member that has not started yet has no name") func members() throws {
        let text =
            #"{"# + Self.header
            + #","members":[{"ID":"9","name":"m1","peerURLs":["http://a:1"],"clientURLs":["http://a:2"]},{"ID":"10"}]}"#
        let members = try reply(EtcdMemberList(), text)
        #expect(members.map(\.id) == [9, 10])
        #expect(members.map(\.name) == ["m1", ""])
        #expect(members.map(\.clientURLs) == [["http://a:2"], []])
    }

    @Test(
        "errors are told apart by code and text, not by HTTP status",
        arguments: [
            (400, 3, "etcdserver: key is not provided", EtcdError.invalidRequest("etcdserver: key is not provided")),
            (400, 3, "etcdserver: request is too large", .tooLarge),
            (429, 8, "grpc: received message larger than max (2097298 vs. 2097152)", .tooLarge),
            (429, 8, "etcdserver: mvcc: database space exceeded", .noSpace),
            (429, 8, "etcdserver: too many requests", .overloaded),
            (400, 11, "etcdserver: mvcc: required revision has been compacted", .compacted(oldest: nil)),
            (400, 11, "etcdserver: mvcc: required revision is a future revision", .futureRevision),
            (404, 5, "etcdserver: requested lease not found", .leaseNotFound),
            (412, 9, "etcdserver: lease already exists", .leaseExists),
            (403, 7, "etcdserver: permission denied", .denied("etcdserver: permission denied")),
            (401, 16, "etcdserver: invalid auth token", .denied("etcdserver: invalid auth token")),
            (503, 14, "etcdserver: no leader", .noLeader),
            (503, 14, "etcdserver: request timed out", .outcomeUnknown("etcdserver: request timed out")),
            (500, 2, "context deadline exceeded", .outcomeUnknown("context deadline exceeded")),
            (504, 4, "context deadline exceeded", .outcomeUnknown("context deadline exceeded")),
        ] as [(Int, Int, String, EtcdError)])
    func errors(status: Int, code: Int, message: String, expected: EtcdError) {
        let unary = #"{"error":"\#(message)","message":"\#(message)","code":\#(code)}"#
        #expect(error(Self.claim, unary, status: status) == expected)
        // Later gateways have no `error`.
        #expect(
            error(Self.claim, #"{"code":\#(code),"message":"\#(message)","details":[]}"#, status: status) == expected)
        let stream = #"{"error":{"grpc_code":\#(code),"http_code":\#(status),"message":"\#(message)"}}"# + "\n"
        #expect(error(EtcdKeepLeaseAlive(1), stream) == expected)
    }

    @Test(
        "that etcd would not give leave the outcome open",
        arguments: [
            (404, "Not Found\n"), (200, ""), (200, "[]"), (200, "{}"), (200, #"{"header":5}"#), (502, "<html></html>"),
            (503, "{\(Self.header)}"), (200, "{\(Self.header)"), (200, "{\(Self.header)} {}"),
            (200, #"{"header":{"revision":"five"}}"#), (200, #"{"header":{"cluster_id":"-1"}}"#),
            (200, "{\(Self.header),\"succeeded\":true}"),
            (200, "{\(Self.header),\"succeeded\":\"yes\",\"responses\":[{\"response_put\":{}}]}"),
            (200, "{\(Self.header),\"succeeded\":true,\"responses\":[{\"response_range\":{}}]}"),
            (200, "{\(Self.header),\"succeeded\":true,\"responses\":[{\"response_put\":{}},{\"response_put\":{}}]}"),
            (200, "{\(Self.header),\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":\"a-_b\"}]}}]}"),
            (200, "{\(Self.header),\"responses\":[{\"response_range\":{\"kvs\":{}}}]}"),
            (200, "{\(Self.header),\"responses\":[[]]}"),
            (200, "{\"a\":" + String(repeating: "[", count: 100_000)),
        ])
    func hostile(status: Int, text: String) {
        let error = error(Self.claim, text, status: status)
        #expect(error?.mayHaveBeenApplied == true, "\(String(describing: error))")
        guard case .malformedReply = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("damaged at random never stop the program", arguments: 0..<200 as Range<UInt64>)
    func damaged(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var text = Array(
            (#"{"# + Self.header + #","succeeded":true,"responses":[{"response_range":{"kvs":[{"key":"YS8x","#
                + #""create_revision":"2","mod_revision":"5","version":"2","value":"dW5v"}]}}]}"#).utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0..<text.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: text[index] = UInt8.random(in: 0...255, using: &random)
            case 1: text.remove(at: index)
            default: text.insert(Array(#"{}[]":,0"#.utf8).randomElement(using: &random)!, at: index)
            }
        }
        let range = EtcdTransaction(then: [.range(EtcdRange(.key([1])))], isRepeatable: true)
        do throws(EtcdError) {
            let (_, reply) = try range.reply(status: 200, body: text)
            #expect(reply.results.count == (reply.hasSucceeded ? 1 : 0), "seed \(seed)")
        } catch {
            #expect(error.mayHaveBeenApplied || error.description.count > 0, "seed \(seed)")
        }
    }
}
