import HearthEtcdMessages
import HearthEventLoop
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthEtcdGateway

@Suite("The client of etcd") struct ClientTests {
    private typealias Member = ScriptedMember

    private static let key: [UInt8] = Array("a/1".utf8)
    private static let read = EtcdRange(.key(key))
    private static let write = EtcdPut(key: key, value: [1])
    private static let foundBody =
        "{\(Member.header),\"kvs\":[{\"key\":\"YS8x\",\"create_revision\":\"2\",\"mod_revision\":\"5\"}]}"
    private static let found = Member.ok(foundBody)
    private static let noLeader = Member.error(
        "503 Service Unavailable",
        #"{"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14}"#)

    /// Attempts that are short enough for a test to wait for their end.
    private func client(_ members: [ScriptedMember], attempt: Duration = .seconds(20)) -> EtcdClient {
        var timeouts = EtcdCluster.Timeouts()
        timeouts.attempt = attempt
        timeouts.connecting = min(attempt, .seconds(20))
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
        #expect(try client.call(Self.read, within: .seconds(20)).values.count == 1)
        #expect(try client.call(Self.read, within: .seconds(20)).values.count == 1)
        let fields =
            "Host: \(member.member)\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
            + "Grpc-Metadata-hasleader: true\r\n"
        #expect(
            member.requests == [
                "POST /v3/maintenance/status HTTP/1.1\r\n\(fields)Content-Length: 2\r\n\r\n{}",
                "POST /v3/kv/range HTTP/1.1\r\n\(fields)Content-Length: 14\r\n\r\n{\"key\":\"YS8x\"}",
                "POST /v3/kv/range HTTP/1.1\r\n\(fields)Content-Length: 14\r\n\r\n{\"key\":\"YS8x\"}",
            ])
    }

    @Test("continues with the connection after an error, which comes in chunks") func errors() throws {
        let full = Member.error(
            "429 Too Many Requests",
            #"{"error":"etcdserver: mvcc: database space exceeded","message":"etcdserver: mvcc: database space exceeded","code":8}"#
        )
        let member = try Member([[Member.status(), full, Self.found]])
        let client = client([member])
        #expect(error { () throws(EtcdError) in _ = try client.call(Self.write, within: .seconds(20)) } == .noSpace)
        #expect(try client.call(Self.read, within: .seconds(20)).values.count == 1)
    }

    @Test("tries the next member when one is down, has no leader, or hangs up") func members() throws {
        let down = try Member([])
        let leaderless = try Member([[Member.status(leader: nil)]])
        let losing = try Member([[Member.status(), Self.noLeader]])
        let closing = try Member([[Member.status(), .close]])
        let good = try Member([[Member.status(), Self.found]])
        let client = client([leaderless, losing, closing, good])
        #expect(try client.call(Self.read, within: .seconds(20)).values.count == 1)
        #expect(good.requests.count == 2)
        #expect(client.member == good.member)
        _ = down
    }

    @Test("repeats a write only if it cannot have been applied") func writes() throws {
        let losing = try Member([[Member.status(), Self.noLeader]])
        let closing = try Member([[Member.status(), .close]])
        let good = try Member([[Member.status(), Self.found]])
        let client = client([losing, closing, good])
        let failure = error { () throws(EtcdError) in _ = try client.call(Self.write, within: .seconds(20)) }
        #expect(failure?.mayHaveBeenApplied == true)
        #expect(losing.requests.count == 2)
        #expect(closing.requests.count == 2)
        #expect(good.requests.isEmpty)
    }

    @Test("gives up a member that is silent, or says a byte now and then") func slow() throws {
        let silent = try Member([[Member.status(), .silence]])
        let dripping = try Member([
            [Member.status(), .drip("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 60), milliseconds: 20)]
        ])
        let good = try Member([[Member.status(), Self.found]])
        let client = client([silent, dripping, good], attempt: .milliseconds(300))
        #expect(try client.call(Self.read, within: .seconds(60)).values.count == 1)
        #expect(good.requests.count == 2)
    }

    @Test("waits for an answer as long as a call may take, though connecting may take less") func late() throws {
        let late = Member.Answer.sendLate(Member.okText(Self.foundBody), milliseconds: 800)
        // On a busy machine connecting may take several attempts.
        let member = try Member(Array(repeating: [Member.status(), late], count: 50))
        var timeouts = EtcdCluster.Timeouts()
        timeouts.attempt = .seconds(20)
        timeouts.connecting = .milliseconds(500)
        let client = EtcdClient(EtcdCluster([member.member], timeouts: timeouts))
        #expect(try client.call(Self.read, within: .seconds(20)).values.count == 1)
    }

    @Test("says at the deadline that the outcome is not known") func deadline() throws {
        let silent = try Member([[Member.status(), .silence], [.silence]])
        let client = client([silent], attempt: .milliseconds(200))
        let failure = error { () throws(EtcdError) in _ = try client.call(Self.read, within: .milliseconds(300)) }
        #expect(failure?.mayHaveBeenApplied == true)
    }

    @Test("does not use members of two clusters") func clusters() throws {
        let first = try Member([[Member.status(), .close]])
        let other = try Member([[Member.status(cluster: "8"), Self.found]])
        let client = client([first, other])
        let failure = error { () throws(EtcdError) in
            _ = try client.call(Self.read, within: .milliseconds(1500))
        }
        #expect(failure != nil)
        #expect(other.requests.allSatisfy { $0.hasPrefix("POST /v3/maintenance/status ") })
    }

    @Test(
        "takes a response that is not HTTP, or not of etcd, for one of unknown outcome",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<html></>",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        ])
    func hostile(answer: String) throws {
        let member = try Member([[Member.status(), .send(answer)]])
        let client = client([member])
        let failure = error { () throws(EtcdError) in _ = try client.call(Self.write, within: .seconds(20)) }
        guard case .malformedReply = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test("a watch passes on lines as they come, and says nothing while none does") func watch() throws {
        let line = #"{"result":{"header":{"revision":"9"},"created":true}}"#
        let change = #"{"result":{"header":{"revision":"9"},"events":[{"kv":{"key":"YS8x","mod_revision":"9"}}]}}"#
        func chunk(_ line: String) -> String { String(line.utf8.count + 1, radix: 16) + "\r\n\(line)\n\r\n" }
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let member = try Member([[Member.status(), .send(head + chunk(line) + chunk(change))]])
        let cluster = EtcdCluster([member.member])
        let stream = try EtcdWatchStream(
            EtcdWatch(.key(Self.key), from: 9), of: cluster, member: 0, deadline: .current + .seconds(20))
        var events: [EtcdWatchEvent] = []
        while events.count < 2 { events += try stream.events(until: .current + .seconds(20)) }
        #expect(
            events == [
                .opened, .changes([.put(EtcdKeyValue(key: Self.key, value: [], createRevision: 0, modRevision: 9))]),
            ])
        #expect(stream.next == 10)
        #expect(try stream.events(until: .current + .milliseconds(20)) == [])
        #expect(
            member.requests.last?.hasSuffix(String(decoding: EtcdWatch(.key(Self.key), from: 9).body, as: UTF8.self))
                == true)
    }

    @Test(
        "a watch ends with the stream, and with an error of HTTP",
        arguments: [
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "the stream has ended"),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP status 404"),
        ])
    func watchEnds(answer: String, reason: String) throws {
        let member = try Member([[Member.status(), .send(answer)]])
        let stream = try EtcdWatchStream(
            EtcdWatch(.key(Self.key), from: 9), of: EtcdCluster([member.member]), member: 0,
            deadline: .current + .seconds(20))
        let error = #expect(throws: EtcdError.self) { try stream.events(until: .current + .seconds(20)) }
        #expect(error?.description.hasSuffix(": \(reason)") == true, "\(String(describing: error))")
    }
}
