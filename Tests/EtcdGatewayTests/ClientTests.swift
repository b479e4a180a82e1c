import HearthEventLoop
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthEtcdGateway
@testable import HearthEtcdMessages

@Suite("The client of etcd") struct ClientTests {
    private typealias Member = ScriptedMember

    private static let key: [UInt8] = Array("a/1".utf8)
    private static let read = EtcdRange(.key(key))
    private static let write = EtcdPut(key: key, value: [1])
    private static let foundMessage = {
        var message = MessageWriter<EtcdRange.ReplyField>()
        message.message(.values, EtcdKeyValue.Field.self) {
            $0.bytes(.key, key)
            $0.integer(.createRevision, 2)
            $0.integer(.modRevision, 5)
        }
        return Member.header() + message.bytes
    }()
    private static let found = Member.ok(foundMessage)
    private static let noLeader = Member.error(14, "etcdserver: no leader")

    /// Attempts that are short enough for a test to wait for their end.
    private func client(_ members: [ScriptedMember], attempt: Duration = Patience.limit) -> EtcdClient {
        var timeouts = EtcdCluster.Timeouts()
        timeouts.attempt = attempt
        timeouts.connecting = min(attempt, Patience.limit)
        return EtcdClient(EtcdCluster(members.map(\.member), timeouts: timeouts))
    }

    private func error(_ body: () throws(EtcdError) -> Void) -> EtcdError? {
        do throws(EtcdError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test("asks for the member's status, then sends requests on the same connection") func requests() throws {
        let member = try Member([[Member.status(), Self.found, Self.found]])
        let client = client([member])
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
        #expect(
            member.requests == [
                .init(path: "/etcdserverpb.Maintenance/Status", message: []),
                .init(path: "/etcdserverpb.KV/Range", message: Self.read.message),
                .init(path: "/etcdserverpb.KV/Range", message: Self.read.message),
            ])
    }

    @Test("continues with the connection after an error") func errors() throws {
        let full = Member.error(8, "etcdserver: mvcc: database space exceeded")
        let member = try Member([[Member.status(), full, Self.found]])
        let client = client([member])
        #expect(error { () throws(EtcdError) in _ = try client.call(Self.write, within: Patience.limit) } == .noSpace)
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
    }

    @Test("tries the next member when one is down, has no leader, or hangs up") func members() throws {
        let down = try Member([])
        let leaderless = try Member([[Member.status(leader: nil)]])
        let losing = try Member([[Member.status(), Self.noLeader]])
        let closing = try Member([[Member.status(), .close]])
        let good = try Member([[Member.status(), Self.found]])
        let client = client([leaderless, losing, closing, good])
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
        #expect(good.requests.count == 2)
        #expect(client.member == good.member)
        _ = down
    }

    @Test("repeats a write only if it cannot have been applied") func writes() throws {
        let losing = try Member([[Member.status(), Self.noLeader]])
        let closing = try Member([[Member.status(), .close]])
        let good = try Member([[Member.status(), Self.found]])
        let client = client([losing, closing, good])
        let failure = error { () throws(EtcdError) in _ = try client.call(Self.write, within: Patience.limit) }
        #expect(failure?.mayHaveBeenApplied == true)
        #expect(losing.requests.count == 2)
        #expect(closing.requests.count == 2)
        #expect(good.requests.isEmpty)
    }

    @Test("gives up a member that is silent, or says a byte now and then") func slow() throws {
        let silent = try Member([[Member.status(), .silence]])
        let dripping = try Member([
            [Member.status(), .drip({ Member.response(Self.foundMessage, stream: $0) }, milliseconds: 20)]
        ])
        // On a busy machine this one may be given up as well.
        let good = try Member(Array(repeating: [Member.status(), Self.found], count: 50))
        let client = client([silent, dripping, good], attempt: .seconds(1))
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
        #expect(good.requests.count >= 2)
    }

    @Test("waits for an answer as long as a call may take, though connecting may take less") func late() throws {
        // A busy machine may connect too slowly, but not with each limit.
        for factor in [1, 2, 4, 8, 16] {
            let late = Member.Answer.sendLate(
                { Member.response(Self.foundMessage, stream: $0) }, milliseconds: 800 * factor)
            let member = try Member(Array(repeating: [Member.status(), late], count: 50))
            var timeouts = EtcdCluster.Timeouts()
            timeouts.attempt = Patience.limit
            timeouts.connecting = .milliseconds(500 * factor)
            let client = EtcdClient(EtcdCluster([member.member], timeouts: timeouts))
            let failure = error { () throws(EtcdError) in
                #expect(try client.call(Self.read, within: .seconds(20 * factor)).values.count == 1)
            }
            if failure == nil { return }
        }
        Issue.record("no answer came")
    }

    @Test("says at the deadline that the outcome is not known") func deadline() throws {
        // A busy machine may send nothing within a limit, but not with each.
        var failure: EtcdError?
        for seconds in [3, 6, 12, 24, 48] where failure?.mayHaveBeenApplied != true {
            failure = try failureAtDeadline(after: .seconds(seconds))
        }
        #expect(failure?.mayHaveBeenApplied == true)
    }

    private func failureAtDeadline(after limit: Duration) throws -> EtcdError? {
        // On a busy machine the first connection may take several attempts. Once it is there, no other one gets
        // anything.
        let isConnected = Atomic(false)
        let status = Member.Answer.send { stream in
            isConnected.load(ordering: .acquiring) ? [] : Member.statusResponse(stream: stream)
        }
        let silent = try Member(Array(repeating: [status, Self.found, .silence], count: 50))
        let client = client([silent], attempt: limit * 2 / 3)
        _ = try client.call(Self.read, within: Patience.limit)
        isConnected.store(true, ordering: .releasing)
        return error { () throws(EtcdError) in _ = try client.call(Self.read, within: limit) }
    }

    @Test("does not use members of two clusters") func clusters() throws {
        let first = try Member([[Member.status(), .close]])
        let other = try Member(Array(repeating: [Member.status(cluster: 8), Self.found], count: 20))
        let client = client([first, other])
        // On a busy machine, a short time may be over before the other member is asked.
        for limit in [1500, 3000, 6000, 12_000] where other.requests.isEmpty {
            let failure = error { () throws(EtcdError) in
                _ = try client.call(Self.read, within: .milliseconds(limit))
            }
            #expect(failure != nil)
        }
        #expect(!other.requests.isEmpty)
        #expect(other.requests.allSatisfy { $0.path == "/etcdserverpb.Maintenance/Status" })
    }

    @Test(
        "takes a response that is not HTTP/2, or not of etcd, for one of unknown outcome",
        arguments: [
            { _ in Array("SSH-2.0-OpenSSH_9.2\r\n\r\n".utf8) },
            { _ in Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8) },
            { ScriptedFrame.head(404, ends: true, stream: $0) },
            // No status of gRPC; no message; two messages; an invalid message; a compressed message.
            { ScriptedFrame.head(200, stream: $0) + ScriptedFrame.frame(.data, flags: 1, [], stream: $0) },
            { ScriptedFrame.head(200, stream: $0) + ScriptedFrame.status(0, stream: $0) },
            { stream in
                let frames = [Member.header(), Member.header()].flatMap {
                    ScriptedFrame.data(GRPCMessages.framed($0), stream: stream)
                }
                return ScriptedFrame.head(200, stream: stream) + frames + ScriptedFrame.status(0, stream: stream)
            },
            { Member.response([0x08], stream: $0) },
            { stream in
                ScriptedFrame.head(200, stream: stream) + ScriptedFrame.data([1, 0, 0, 0, 0], stream: stream)
                    + ScriptedFrame.status(0, stream: stream)
            },
        ] as [@Sendable (UInt32) -> [UInt8]])
    func hostile(answer: @escaping @Sendable (UInt32) -> [UInt8]) throws {
        let member = try Member([[Member.status(), .send(answer)]])
        let client = client([member])
        let failure = error { () throws(EtcdError) in _ = try client.call(Self.write, within: Patience.limit) }
        guard case .malformedReply = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test("a request that the member gives up is of unknown outcome, one that it refuses is not made") func resets()
        throws
    {
        // INTERNAL_ERROR and REFUSED_STREAM; then the end of the connection for all requests. A response that has begun
        // was not refused.
        let answers: [@Sendable (UInt32) -> [UInt8]] = [
            { ScriptedFrame.reset(2, stream: $0) }, { ScriptedFrame.reset(7, stream: $0) },
            { _ in ScriptedFrame.goAway(last: 1) },
            { ScriptedFrame.head(200, stream: $0) + ScriptedFrame.reset(7, stream: $0) },
            { ScriptedFrame.head(200, stream: $0) + ScriptedFrame.goAway(last: 1) },
        ]
        // What was refused is tried again, on the same connection or on another one, and then ends with this.
        let full = Member.error(8, "etcdserver: mvcc: database space exceeded")
        for (answer, isUnknown) in zip(answers, [true, false, false, true, true]) {
            let member = try Member([[Member.status(), .send(answer), full], [Member.status(), full]])
            let client = client([member])
            let failure = error { () throws(EtcdError) in _ = try client.call(Self.write, within: Patience.limit) }
            #expect(failure?.mayHaveBeenApplied == isUnknown, "\(String(describing: failure))")
            #expect((failure == .noSpace) == !isUnknown, "\(String(describing: failure))")
        }
    }

    @Test("connects again after the member has ended the connection between two calls") func idle() throws {
        let leaving = Member.Answer.send {
            Member.response(Self.foundMessage, stream: $0) + ScriptedFrame.goAway(last: $0)
        }
        let member = try Member([
            [Member.status(), leaving], [Member.status(), .close], [Member.status(), Self.found],
        ])
        let client = client([member])
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
        // The second connection ends instead of an answer, so that the read is repeated on the third.
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
        #expect(member.requests.map(\.path).filter { $0.hasSuffix("/Status") }.count == 3)
    }

    @Test("takes a response that comes before the end of the request, and continues with the connection") func early()
        throws
    {
        let large = EtcdPut(key: Self.key, value: [UInt8](repeating: 1, count: 200_000))
        let refusal = Member.Answer.send {
            let fields = [(":status", "200")] + ScriptedFrame.statusFields(8, "larger than max")
            return ScriptedFrame.window(1 << 20) + ScriptedFrame.headers(fields, ends: true, $0)
        }
        let member = try Member([[Member.status(), refusal, Self.found]], answersAtOnce: true)
        let client = client([member])
        #expect(error { () throws(EtcdError) in _ = try client.call(large, within: Patience.limit) } == .tooLarge)
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
    }

    @Test("takes the response that comes with the end of the connection") func last() throws {
        let leaving = Member.Answer.send {
            Member.response(Self.foundMessage, stream: $0) + ScriptedFrame.goAway(last: $0) + Array("HTTP/1.1".utf8)
        }
        let member = try Member([[Member.status(), leaving]])
        let client = client([member])
        #expect(try client.call(Self.read, within: Patience.limit).values.count == 1)
    }

    @Test("a member that is not one of etcd was asked nothing") func stranger() throws {
        let member = try Member([[.send { ScriptedFrame.head(503, ends: true, stream: $0) }]])
        let client = client([member])
        let failure = error { () throws(EtcdError) in _ = try client.call(Self.write, within: .milliseconds(300)) }
        #expect(failure?.mayHaveBeenApplied == false)
    }

    /// A watch tries its member once, so that connecting has to succeed.
    private static func patientCluster(_ member: ScriptedMember) -> EtcdCluster {
        var timeouts = EtcdCluster.Timeouts()
        timeouts.connecting = Patience.limit
        return EtcdCluster([member.member], timeouts: timeouts)
    }

    private static func watchMessages() -> [[UInt8]] {
        var opened = MessageWriter<EtcdWatchDecoder.Field>()
        opened.flag(.isCreated, true)
        var changed = MessageWriter<EtcdWatchDecoder.Field>()
        changed.message(.events, EtcdWatchDecoder.EventField.self) {
            $0.message(.value, EtcdKeyValue.Field.self) {
                $0.bytes(.key, key)
                $0.integer(.modRevision, 9)
            }
        }
        return [opened.bytes, changed.bytes].map { Member.header() + $0 }
    }

    @Test("a watch passes on messages as they come, and says nothing while none does") func watch() throws {
        let member = try Member([
            [
                Member.status(),
                .send { stream in
                    ScriptedFrame.head(200, stream: stream)
                        + Self.watchMessages().flatMap { ScriptedFrame.data(GRPCMessages.framed($0), stream: stream) }
                },
            ]
        ])
        let watch = EtcdWatch(.key(Self.key), from: 9)
        let stream = try EtcdWatchStream(
            watch, of: Self.patientCluster(member), member: 0, deadline: .current + Patience.limit)
        var events: [EtcdWatchEvent] = []
        while events.count < 2 { events += try stream.events(until: .current + Patience.limit) }
        #expect(
            events == [
                .opened, .changes([.put(EtcdKeyValue(key: Self.key, value: [], createRevision: 0, modRevision: 9))]),
            ])
        #expect(stream.next == 10)
        #expect(try stream.events(until: .current + .milliseconds(20)) == [])
        #expect(member.requests.last == .init(path: "/etcdserverpb.Watch/Watch", message: watch.message))
    }

    @Test(
        "a watch ends with the stream, and with an error",
        arguments: [
            (200, [("grpc-status", "0")], "the stream has ended"), (404, [], "HTTP status 404"),
            (200, [("grpc-status", "4"), ("grpc-message", "too%20late")], "too late"),
        ] as [(Int, [(String, String)], String)])
    func watchEnds(status: Int, fields: [(String, String)], reason: String) throws {
        let answer = Member.Answer.send { ScriptedFrame.headers([(":status", "\(status)")] + fields, ends: true, $0) }
        let member = try Member([[Member.status(), answer]])
        let stream = try EtcdWatchStream(
            EtcdWatch(.key(Self.key), from: 9), of: Self.patientCluster(member), member: 0,
            deadline: .current + Patience.limit)
        let error = #expect(throws: EtcdError.self) { try stream.events(until: .current + Patience.limit) }
        #expect(error?.description.hasSuffix(": \(reason)") == true, "\(String(describing: error))")
    }
}
