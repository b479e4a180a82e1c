import Glibc
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthClusterNode

@Suite("What nodes tell each other")
struct PeerMessageTests {
    private static func value(_ text: String, _ hasServerValues: Bool = false) -> IncomingValue {
        IncomingValue(json: CanonicalJSON(trusted: Array(text.utf8)), hasServerValues: hasServerValues)
    }

    private static let path: Path = "a/b c/ü"

    private static let operations: [HearthRealtimeDatabase.Operation] = [
        .set(WriteTarget(path: path), value("1")),
        .set(WriteTarget(path: path, isPriority: true), value("2", true), expecting: [], echoes: true),
        .set(WriteTarget(path: .root), value("{\"a\":1}"), expecting: Array("hash".utf8)),
        .update(base: path, [(WriteTarget(path: path), value("1")), (WriteTarget(path: .root), value("null", true))]),
        .onDisconnect([(WriteTarget(path: path), value("{\".sv\":\"timestamp\"}", true))]),
        .cancelOnDisconnect(path), .forfeit, .disconnect,
    ]

    private static let replies: [Reply] = [
        .done, .value(value("[1]").json), .failed(.stale(value("3").json)), .failed(.nothingThere),
        .failed(.tooLarge), .failed(.notUnique(UniqueConflict(collection: path, index: .child(path)))),
        .failed(.notUnique(UniqueConflict(collection: path, index: .value))),
        .failed(.refusedBySetting(why: StaticText("maxChildren"), "too many")), .failed(.denied("because")),
        .failed(.rateExceeded(retryAfter: 1200, "too soon")), .failed(.rateExceeded(retryAfter: nil, "never")),
        .failed(.refused(status: StaticText("too_big"), "text")), .failed(.unavailable(.full)),
        .failed(.unavailable(.noQuorum)), .failed(.unavailable(.stopping)),
        .failed(.unavailable(.ownedElsewhere(node: nil))), .failed(.unavailable(.ownedElsewhere(node: "n2"))),
    ]

    @Test("requests arrive as they were sent", arguments: operations.indices)
    func requests(index: Int) throws {
        let principal = try Principal(auth: Array(#"{"uid":"u"}"#.utf8))
        let message = PeerMessage.request(
            database: "default", connection: .max, number: -5, client: 9, principal: principal.stored,
            Self.operations[index])
        let bytes = message.bytes
        let read = try PeerMessage(bytes[...])
        #expect("\(read)" == "\(message)")
        for count in 0..<bytes.count { #expect(throws: MalformedMessage.self) { try PeerMessage(bytes.prefix(count)) } }
        #expect(throws: MalformedMessage.self) { try PeerMessage((bytes + [0])[...]) }
    }

    @Test("writes of an administrator that make no events arrive so, and as an administrator's at earlier builds")
    func quietRequests() throws {
        let writes: [HearthRealtimeDatabase.Operation] =
            Self.operations.prefix(4) + [.setChildren(Self.path, Self.value("{\"a\":1}"))]
        for operation in writes {
            let message = PeerMessage.request(
                database: "default", connection: 1, number: 2, client: 3,
                principal: Principal.quietAdministrator.stored, operation)
            let bytes = message.bytes
            #expect("\(try PeerMessage(bytes[...]))" == "\(message)")
            // Those read the name of the principal, and would end the link at one that they do not know.
            #expect(bytes.contains(Principal.administrator.stored))
            #expect(!bytes.contains(Principal.quietAdministrator.stored))
        }
    }

    @Test("answers arrive as they were sent", arguments: replies.indices)
    func answers(index: Int) throws {
        let message = PeerMessage.answer(
            database: "d", connection: 1, number: 2, sequence: .max, Self.replies[index])
        let bytes = message.bytes
        #expect("\(try PeerMessage(bytes[...]))" == "\(message)")
        for count in 0..<bytes.count { #expect(throws: MalformedMessage.self) { try PeerMessage(bytes.prefix(count)) } }
    }

    @Test(
        "what nodes say of feeds arrives as it was sent",
        arguments: [
            PeerMessage.follow(feed: 1, database: "d", epoch: .max, sequence: 300), .unfollow(feed: 200),
            .fed(feed: .max, floor: 1 << 40, owner: "n1", batch: [1, 2, 3]),
            .fed(feed: 0, floor: 0, owner: nil, batch: []), .feedEnded(feed: 7),
        ])
    func feeds(message: PeerMessage) throws {
        let bytes = message.bytes
        #expect("\(try PeerMessage(bytes[...]))" == "\(message)")
        for count in 0..<bytes.count { #expect(throws: MalformedMessage.self) { try PeerMessage(bytes.prefix(count)) } }
    }

    @Test("errors of the disk are told without paths, and unknown words as errors")
    func foreign() throws {
        let reply = Reply.failed(.unavailable(.inputOutput("/secret/place")))
        let bytes = PeerMessage.answer(database: "d", connection: 1, number: 2, sequence: 3, reply).bytes
        #expect("\(try PeerMessage(bytes[...]))".contains("the disk reported an error"))
        #expect(!"\(try PeerMessage(bytes[...]))".contains("/secret"))
        let other = Reply.failed(.refused(status: StaticText("new_word"), "text"))
        let message = PeerMessage.answer(database: "d", connection: 1, number: 2, sequence: 3, other)
        guard case .answer(_, _, _, _, .failed(.refused(let status, "text"))) = try PeerMessage(message.bytes[...])
        else {
            Issue.record("not refused")
            return
        }
        #expect(status == StaticText("error"))
    }

    @Test("bytes that mean nothing are refused", arguments: 0..<200 as Range<UInt64>)
    func noise(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bytes = PeerMessage.request(
            database: "d", connection: 1, number: 1, client: 0, principal: [],
            Self.operations[Int(seed) % Self.operations.count]
        ).bytes
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
        _ = try? PeerMessage(bytes[...])
    }
}

@Suite("The secret of a cluster") struct ClusterSecretTests {
    @Test("is one line of a file that nobody else may read, or two while it is being replaced")
    func files() throws {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/secret"
        func failure(_ text: String, mode: UInt32 = 0o600) throws -> String? {
            TemporaryFolder.write(Array(text.utf8), to: path)
            #expect(chmod(path, mode) == 0)
            do throws(ClusterSecret.Failure) { _ = try ClusterSecret(file: path) } catch { return error.description }
            return nil
        }
        let secret = String(repeating: "a", count: 32)
        #expect(try failure(secret) == nil)
        #expect(try failure(secret + "\r\n") == nil)
        let (old, new) = (String(repeating: "o", count: 32), String(repeating: "n", count: 32))
        #expect(try failure(new + "\n" + old + "\n") == nil)
        let both = try ClusterSecret(file: path)
        #expect(both.sealingKey == ClusterSecret(new).sealingKey)
        #expect(both.other?.sealingKey == ClusterSecret(old).sealingKey)
        #expect(try failure([secret, new, old].joined(separator: "\n"))?.contains("or two of them") == true)
        #expect(try failure(secret + "\nshort")?.contains("at least 32") == true)
        #expect(try failure("short")?.contains("at least 32") == true)
        #expect(try failure("")?.contains("must hold one line") == true)
        #expect(try failure(secret, mode: 0o644)?.contains("chmod 600") == true)
        #expect(throws: ClusterSecret.Failure(description: "\(path).none is not there")) {
            try ClusterSecret(file: path + ".none")
        }
    }
}
