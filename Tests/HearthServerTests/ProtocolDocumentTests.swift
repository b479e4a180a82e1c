import HearthBytes
import HearthDatabaseHost
import HearthDatabaseScheduler
import HearthDelivery
import HearthEventLoop
import HearthHTTPCodec
import HearthJSONTree
import HearthSystem
import Testing
import HearthTreeStorage
import HearthWireProtocol
import HearthServerProtocol

@testable import HearthServer
@testable import HearthRealtimeDatabase
@testable import HearthRealtimeSessions

@Suite("The protocol documents")
struct ProtocolDocumentTests {
    private let document = ProtocolDocument.shared

    @Test("every block is of a kind that is checked")
    func kinds() {
        let kinds: Set = [
            "session", "json client", "json server", "http", "rest", "events", "canonical", "hash", "hash-text", "text",
            "accounts",
        ]
        for block in document.blocks { #expect(kinds.contains(block.kind), "\(block.testDescription)") }
        for kind in kinds { #expect(!document.blocks(kind).isEmpty, "no block of kind \(kind)") }
    }

    @Test("the sessions are what the server says, byte for byte", arguments: ProtocolDocument.shared.blocks("session"))
    func session(block: ProtocolDocument.Block) throws {
        var replay = SessionReplay(server: try RealtimeTestServer())
        try replay.play(block)
    }

    @Test("the handshake is the server's", arguments: ProtocolDocument.shared.blocks("http"))
    func handshake(block: ProtocolDocument.Block) throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let target = try #require(block.lines.first?.split(separator: " ").dropFirst().first)
        let peer = try server.connect(String(target))
        let exchange = RealtimePeer.request(host: server.host, target: String(target)) + peer.response
        let text = exchange.replacing("\r\n", with: "\n").replacing(server.host, with: "<host>")
        #expect(text == block.lines.joined(separator: "\n"))
    }

    @Test("the answers over REST are the server's", arguments: ProtocolDocument.shared.blocks("rest"))
    func rest(block: ProtocolDocument.Block) throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let client = try RESTClient(port: server.server.address.port)
        var transcript: [String] = []
        for line in block.lines {
            // METHOD target [field: value] body
            guard let request = line.wholeMatch(of: /([A-Z]+) (\/[^ ]*)(?: \[([^\]]*)\])?(?: (.*))?/) else { continue }
            let answer = try client.ask(
                String(request.1), String(request.2), request.3.map { [String($0)] } ?? [],
                body: request.4.map { Array($0.utf8) } ?? (request.1 == "PUT" ? [] : nil))
            let tag = answer.field("etag").map { " [\($0)]" } ?? ""
            let text = answer.text.isEmpty ? "" : " \(answer.text)"
            transcript += [line] + "\(answer.status)\(tag)\(text)".split(separator: "\n").map(String.init)
        }
        #expect(transcript.joined(separator: "\n") == block.lines.joined(separator: "\n"), "\(block.testDescription)")
    }

    @Test("messages of clients can be read")
    func clientMessages() throws {
        for block in document.blocks("json client") {
            for line in block.lines {
                let bytes = Array(line.utf8)
                let message = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(MessageError) in
                    try ClientMessage.parse(bytes)
                }
                switch message {
                case .ping, .request(_, .put), .request(_, .merge), .request(_, .get), .request(_, .listen): break
                default: Issue.record("\(block.testDescription): \(line) is \(message)")
                }
            }
        }
    }

    @Test("messages of the server can be read")
    func serverMessages() throws {
        for block in document.blocks("json server") {
            for line in block.lines {
                let bytes = Array(line.utf8)
                let message = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(MessageError) in
                    try ServerMessage.parse(bytes)
                }
                switch message {
                case .hello, .pong, .response, .push(.data), .push(.merge): break
                default: Issue.record("\(block.testDescription): \(line) is \(message)")
                }
            }
        }
    }

    @Test("values become what the document says")
    func canonicalForm() throws {
        for pair in document.blocks("canonical").flatMap(\.pairs) {
            let value = try CanonicalJSON.parse(Array(pair.left.utf8)).value
            #expect(value.bytes == Array(pair.right.utf8), "\(pair.place): \(value)")
            #expect(try CanonicalJSON.parse(value.bytes).value == value, "\(pair.place)")
        }
    }

    @Test("hashes are what the document says")
    func hashes() throws {
        for pair in document.blocks("hash").flatMap(\.pairs) {
            let hash = NodeHash.hash(try CanonicalJSON.parse(Array(pair.left.utf8)).value)
            #expect(
                hash == Array(pair.right.utf8), "\(pair.place): \(String(decoding: hash, as: UTF8.self))")
        }
        for pair in document.blocks("hash-text").flatMap(\.pairs) {
            let hash = NodeHash.hash(try CanonicalJSON.parse(Array(pair.left.utf8)).value)
            var text = SHA1()
            Array(pair.right.utf8).withUnsafeBytes { text.update($0) }
            let digest = text.finish().withUnsafeBytes { Base64.standard.encode($0) }
            #expect(digest == hash, "\(pair.place)")
        }
    }

    @Test("limits are those of the code")
    func limits() throws {
        let configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: "")
        let connection = configuration.connectionLimits
        let (stream, http) = (StreamLimits(), HTTPLimits())
        let counts: [(row: String, counts: [Int])] = [
            ("message of a client", [connection.messageBytesMax]),
            ("chunks that a client announces", [1 + connection.messageBytesMax / 1024]),
            ("frame of the server", [MessageChunks.unitsMax]),
            ("path, and depth", [Path.maximumDepth]),
            ("key", [Key.maximumByteCount]),
            ("string", [CanonicalJSON.Limits().stringByteCount]),
            ("value that is read", [Database.assembledBytesMax]),
            (
                "streamed value that the client reads",
                [configuration.snapshotLimits.rateMin, Int(configuration.snapshotLimits.patience.components.seconds)]
            ),
            ("streamed values of a server", [configuration.snapshotLimits.openMax]),
            ("value that a set with a hash", [Database.comparedBytesMax]),
            ("result of a query", [Database.selectedBytesMax]),
            ("paths of a connection's on-disconnect", [Database.owedEntriesMax]),
            ("bytes of these paths", [Database.owedBytesMax]),
            ("increments in these values", [Database.owedIncrementsMax]),
            ("unanswered requests of a connection", [connection.requestsWaitingMax]),
            ("bytes of these requests; a read", [connection.requestBytesMax]),
            ("bytes of these requests, of all", [RequestMemory.bytesMax(of: .max)]),
            ("listeners of a connection", [configuration.databaseLimits.listenersMax]),
            ("listeners with a list of queries", [connection.queryListsMax]),
            ("bytes waiting for a client, before", [stream.highWater, stream.lowWater]),
            ("bytes waiting for a client |", [connection.outboundBytesMax]),
            ("reads of a connection", [connection.anonymousRequestBytesMax]),
            ("listeners of queries of a connection", [configuration.databaseLimits.queriesOfPlaceMax]),
            ("children selected by the limited queries", [configuration.databaseLimits.keptPlacesMax]),
            ("pushes of one commit", [configuration.databaseLimits.tellingCostMax]),
            ("body of a write over REST", [connection.bodyBytesMax]),
            ("silence", [Int(connection.realtimeTimeout.components.seconds)]),
            (
                "head of an HTTP request",
                [http.headBytesMax, http.headerCountMax, Int(connection.headTimeout.components.seconds)]
            ),
            ("opening of TCP and TLS", [Int(stream.openTimeout.components.seconds)]),
            ("end of the connection", [Int(stream.closeTimeout.components.seconds)]),
            ("databases created by writes", [configuration.databaseNames.writtenMax]),
            (
                "names in use for databases",
                [configuration.databaseNames.unwrittenMax, configuration.databaseNames.unwrittenPerClientMax]
            ),
            ("connections of a server", [configuration.connectionsMax]),
            ("connections of a client address", [connection.connectionsPerClientMax]),
            ("realtime sessions and event streams of", [connection.connectionsPerClientMax]),
            ("long-polling sessions of a client address", [connection.polledSessionsPerClientMax]),
            (
                "incoming message or body",
                [connection.receiveRateMin, Int(connection.receivePatience.components.seconds)]
            ),
            (
                "message in segments",
                [connection.polledRateMin, Int(connection.receivePatience.components.seconds)]
            ),
        ]
        let chapter = document.lines.drop { !$0.hasPrefix("## 9. ") }
        for (row, counts) in counts {
            let line = try #require(chapter.first { $0.hasPrefix("| \(row)") }, "no row for \(row)")
            for count in counts { #expect(line.contains(" \(Self.grouped(count)) "), "\(count) is not in \(line)") }
        }
    }

    private static func grouped(_ count: Int) -> String {
        let digits = Array("\(count)".reversed())
        let groups = stride(from: 0, to: digits.count, by: 3).map { digits[$0..<min($0 + 3, digits.count)] }
        return String(groups.joined(separator: ",").reversed())
    }
}
