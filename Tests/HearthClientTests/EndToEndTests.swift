import HearthServerSupport
import HearthEventLoop
import HearthClient
import HearthServer
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthRealtimeSessions
import HearthClientSession
import HearthConnection

@Suite("Clients and a real server", .timeLimit(.minutes(15)))
struct EndToEndTests {
    // MARK: Operations

    @Test("set, get, update, remove")
    func operations() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        #expect(try await client.get(.root).isNull)
        try await client.set(place("rooms/a"), to: json(#"{"n":1,"list":["x",null,"z"],"text":"ü\n"}"#))
        #expect(try await client.get(path("rooms")) == json(#"{"a":{"list":{"0":"x","2":"z"},"n":1,"text":"ü\n"}}"#))
        #expect(try await client.get(path("rooms/a/list/2")) == json(#""z""#))
        let assignments = [
            WireAssignment(target: try place("rooms/a/n"), value: try json("2")),
            WireAssignment(target: try place("rooms/a/list"), value: .null),
            WireAssignment(target: try place("rooms/b/deep/er"), value: try json("true")),
        ]
        try await client.update(path("rooms"), assignments)
        #expect(try await client.get(path("rooms")) == json(#"{"a":{"n":2,"text":"ü\n"},"b":{"deep":{"er":true}}}"#))
        try await client.remove(path("rooms/a"))
        try await client.remove(path("rooms/b/deep/er"))
        #expect(try await client.get(.root).isNull)
    }

    @Test("keys of all kinds, and numbers to their last digit")
    func keysAndNumbers() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        let value = try json(
            #"{"1":9223372036854775807,"10":-9223372036854775808,"é":1.7976931348623157e308,"😀":5e-324," ":0.1,"\"\\":1}"#
        )
        try await client.set(place("a b/ü"), to: value)
        #expect(try await client.get(path("a b/ü")) == value)
        #expect(try await client.get(path("a b/ü/\"\\")) == json("1"))
    }

    @Test("priorities stay with their nodes")
    func priorities() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        try await client.set(place("a"), to: json(#"{".priority":3,"b":{".priority":"x",".value":1}}"#))
        try await client.set(place("a/b/.priority"), to: json("7"))
        #expect(try await client.get(path("a")) == json(#"{".priority":3,"b":{".priority":7,".value":1}}"#))
        try await client.set(place("a/.priority"), to: .null)
        #expect(try await client.get(path("a")) == json(#"{"b":{".priority":7,".value":1}}"#))
    }

    @Test("server values")
    func serverValues() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        let increment = try json(#"{".sv":{"increment":5}}"#)
        for _ in 0..<3 { try await client.set(place("n"), to: increment) }
        #expect(try await client.get(path("n")) == json("15"))
        try await client.set(place("at"), to: json(#"{".sv":"timestamp"}"#))
        let time = try #require(Int64(try await client.get(path("at")).description))
        #expect(time >= client.hello.time)
        #expect(time < client.hello.time + 3_600_000)
    }

    @Test("pushed children get keys that sort by time")
    func push() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        var keys: [Key] = []
        for number in 0..<20 { keys.append(try await client.push(json("\(number)"), to: path("list"))) }
        let list = try await client.get(path("list"))
        #expect(list.children.map(\.key) == keys)
        #expect(list.children.map { list.part($0.value).description } == (0..<20).map(String.init))
    }

    @Test("compare and set")
    func compareAndSet() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        try await client.set(place("n"), to: json("1"), expecting: [])
        let hash = NodeHash.hash(try json("1"))
        try await client.set(place("n"), to: json("2"), expecting: hash)
        for stale in [hash, []] {
            await #expect {
                try await client.set(place("n"), to: json("3"), expecting: stale)
            } throws: { error in
                if case ConnectionError.refused(status: "datastale", _) = error { true } else { false }
            }
        }
        #expect(try await client.get(path("n")) == json("2"))
    }

    @Test("what the server refuses is an error with a reason, and the connection continues")
    func refusals() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        let deep = try path((0..<32).map { "k\($0)" }.joined(separator: "/"))
        let refused: [ClientRequest] = [
            // Nothing there that could have a priority.
            .put(WireAssignment(target: try place("none/.priority"), value: try json("1")), hash: nil),
            // Below the deepest level.
            .put(WireAssignment(target: WriteTarget(path: deep), value: try json(#"{"a":1}"#)), hash: nil),
            // One path inside of another.
            .merge(
                .root,
                [
                    WireAssignment(target: try place("a"), value: .null),
                    WireAssignment(target: try place("a/b"), value: .null),
                ]),
        ]
        for request in refused {
            await #expect {
                switch request {
                case .put(let assignment, _): try await client.set(assignment.target, to: assignment.value)
                case .merge(let base, let assignments): try await client.update(base, assignments)
                default: Issue.record("no write")
                }
            } throws: { error in
                guard case ConnectionError.refused(let status, let text) = error else { return false }
                return status == "invalid_argument" && !text.isEmpty
            }
        }
        #expect(try await client.get(.root).isNull)
    }

    @Test("databases are worlds of their own")
    func databases() async throws {
        let server = try TestDatabase()
        let first = try await server.connect()
        let named = try await server.connect(database: "default")
        let second = try await server.connect(database: "second")
        try await first.set(place("a"), to: json("1"))
        #expect(try await named.get(path("a")) == json("1"))
        #expect(try await second.get(path("a")).isNull)
        await #expect {
            _ = try await server.connect(database: "no.such")
        } throws: { error in
            if case ConnectionError.disconnected(.handshakeRefused(status: 403, _)) = error { true } else { false }
        }
    }

    // MARK: Changes

    @Test("two clients see each other's changes, in the one order of the commits")
    func order() async throws {
        let database = try TestDatabase()
        let writers = [try await database.connect(), try await database.connect()]
        let reader = try await database.connect()
        let count = 100
        var streams: [Changes] = []
        for client in writers + [reader] { streams.append(try await client.listen(path("log"))) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, writer) in writers.enumerated() {
                group.addTask {
                    for number in 0..<count {
                        // Every third without waiting for the one before.
                        if number % 3 == 0 {
                            async let first: Void = writer.set(place("log/\(index)"), to: json("\(number)"))
                            try await first
                        } else {
                            try await writer.update(
                                path("log"), [WireAssignment(target: place("log/\(index)"), value: json("\(number)"))])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        var seen: [[String]] = []
        for stream in streams {
            var changes = stream.makeAsyncIterator()
            #expect(try await changes.required() == .set("log", "null"))
            var lines: [String] = []
            for _ in 0..<2 * count {
                let change = try await changes.required()
                lines.append(change.assignments.map { "\($0.target.path) \($0.value)" }.joined())
            }
            seen.append(lines)
        }
        #expect(seen[0] == seen[1])
        #expect(seen[1] == seen[2])
        for index in writers.indices {
            #expect(seen[0].filter { $0.hasPrefix("/log/\(index) ") } == (0..<count).map { "/log/\(index) \($0)" })
        }
    }

    @Test("a writer sees its own change before the answer")
    func ownChange() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        var changes = try await client.listen(path("a")).makeAsyncIterator()
        try await client.set(place("a/b"), to: json(#"{".sv":{"increment":1}}"#))
        // Events that have not come by now never will.
        client.close()
        #expect(try await changes.required() == .set("a", "null"))
        #expect(try await changes.required() == .set("a/b", "1"))
        await #expect(throws: ConnectionError.disconnected(.closed)) { try await changes.next(isolation: nil) }
    }

    @Test("listens see what concerns their place, from above and below")
    func places() async throws {
        let database = try TestDatabase()
        let writer = try await database.connect()
        let reader = try await database.connect()
        try await writer.set(place("a"), to: json(#"{"b":{"c":1},"d":2}"#))
        var inner = try await reader.listen(path("a/b")).makeAsyncIterator()
        #expect(try await inner.required() == .set("a/b", #"{"c":1}"#))
        let update = [
            WireAssignment(target: try place("a/b/c"), value: try json("5")),
            WireAssignment(target: try place("a/d"), value: try json("6")),
        ]
        try await writer.set(place("a/d"), to: json("3"))
        try await writer.update(path("a"), update)
        try await writer.set(place("a"), to: json(#"{"b":{"x":true}}"#))
        try await writer.remove(.root)
        let expected = [
            try Change.set("a/b/c", "5"), try .set("a/b", #"{"x":true}"#), try .set("a/b", "null"),
        ]
        for change in expected { #expect(try await inner.required() == change) }
    }

    @Test("after the end of a listen nothing comes for it, and a new one starts afresh")
    func again() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        for round in 0..<5 {
            var changes = try await client.listen(path("a")).makeAsyncIterator()
            #expect(try await changes.required() == .set("a", round == 0 ? "null" : "\(round - 1)"))
            try await client.set(place("a"), to: json("\(round)"))
            #expect(try await changes.required() == .set("a", "\(round)"))
        }
    }

    @Test("who follows the changes has what the server has", arguments: 0..<8 * TestScale.factor)
    func following(seed: UInt64) async throws {
        let database = try TestDatabase()
        let writers = [try await database.connect(), try await database.connect()]
        let reader = try await database.connect()
        var changes = try await reader.listen(path("t")).makeAsyncIterator()
        var random = RandomTrees(seed: seed)
        random.keyPool = ["a", "b", "1", "😀"].map { Array($0.utf16) }
        for _ in 0..<60 {
            let writer = random.pick(writers)
            let target = WriteTarget(path: try path("t").appending(random.shortPath()))
            let value = CanonicalJSON(trusted: Array(random.tree(depth: 2).canonicalText.utf8))
            if random.chance(1, in: 6) {
                let priority = CanonicalJSON(trusted: Array(TreeModel.text(of: random.priority()).utf8))
                try? await writer.set(WriteTarget(path: target.path, isPriority: true), to: priority)
            } else if random.chance(1, in: 3) {
                let other = WriteTarget(path: try path("t").appending(random.shortPath()))
                let both = [target, other].map { WireAssignment(target: $0, value: value) }
                // Overlapping ones are refused, which is as good.
                try? await writer.update(path("t"), both)
            } else {
                try await writer.set(target, to: random.chance(1, in: 4) ? .null : value)
            }
        }
        try await writers[0].set(place("t/end"), to: json("true"))
        var copy = CanonicalJSON.null
        while !copy.hasValue(at: try path("end")) {
            for assignment in try await changes.required().assignments {
                let relative = try #require(assignment.target.path.suffix(after: path("t")))
                if assignment.target.isPriority {
                    copy = copy.settingPriority(assignment.value, at: relative) ?? copy
                } else {
                    copy = copy.setting(assignment.value, at: relative)
                }
            }
        }
        #expect(try await reader.get(path("t")) == copy, "seed \(seed)")
    }

    @Test("many tasks share a connection")
    func manyTasks() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        let increment = try json(#"{".sv":{"increment":1}}"#)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 { group.addTask { try await client.set(place("n"), to: increment) } }
            try await group.waitForAll()
        }
        #expect(try await client.get(path("n")) == json("200"))
    }

    // MARK: Large values

    @Test("a text of 5 MB goes both ways")
    func largeText() async throws {
        let database = try TestDatabase()
        let writer = try await database.connect()
        let reader = try await database.connect()
        var changes = try await reader.listen(path("big")).makeAsyncIterator()
        #expect(try await changes.required() == .set("big", "null"))
        let text = CanonicalJSON(string: Array(String(repeating: "0123456789é😀\"\n", count: 5 << 20 / 20).utf8))
        #expect(text.bytes.count > 5 << 20)
        try await writer.set(place("big/text"), to: text)
        #expect(try await changes.required() == .set(.init(target: place("big/text"), value: text)))
        #expect(try await reader.get(path("big/text")) == text)
        var late = try await writer.listen(path("big")).makeAsyncIterator()
        #expect(try await late.required().assignments.first?.value.value(at: path("text")) == text)
    }

    @Test("a tree of 5 MB goes both ways, and small things meanwhile")
    func largeTree() async throws {
        let database = try TestDatabase()
        let writer = try await database.connect()
        let reader = try await database.connect()
        var text = "{"
        for index in 0..<20_000 {
            if index > 0 { text += "," }
            text += #""k\#(100_000 + index)":{"name":"\#(String(repeating: "n", count: 220))","é":[\#(index),true]}"#
        }
        let tree = try json(text + "}")
        #expect(tree.bytes.count > 5 << 20)
        try await writer.set(place("tree"), to: tree)
        async let read = reader.get(path("tree"))
        async let stream = reader.listen(path("tree"))
        try await writer.set(place("other"), to: json("1"))
        #expect(try await reader.get(path("other")) == json("1"))
        #expect(try await read == tree)
        var changes = try await stream.makeAsyncIterator()
        #expect(try await changes.required() == .set(.init(target: place("tree"), value: tree)))
        // What comes after the large value still comes.
        try await writer.set(place("tree/k100007/name"), to: json(#""x""#))
        #expect(try await changes.required() == .set("tree/k100007/name", #""x""#))
    }

    // MARK: Ends

    @Test("a server that stops says so, after everything it has accepted")
    func serverStops() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        var changes = try await client.listen(path("a")).makeAsyncIterator()
        try await client.set(place("a"), to: json("1"))
        database.stop()
        #expect(try await changes.required() == .set("a", "null"))
        #expect(try await changes.required() == .set("a", "1"))
        await #expect {
            try await changes.next(isolation: nil)
        } throws: { error in
            if case ConnectionError.disconnected(.closedByServer(code: 1001, _)) = error { true } else { false }
        }
        await #expect {
            _ = try await database.connect()
        } throws: { error in
            if case ConnectionError.disconnected(.unreachable) = error { true } else { false }
        }
    }

    @Test("a message larger than the server takes ends the connection with the reason")
    func tooLarge() async throws {
        let database = try TestDatabase { configuration, _ in configuration.connectionLimits.messageBytesMax = 100_000 }
        let client = try await database.connect()
        let text = CanonicalJSON(string: [UInt8](repeating: 0x78, count: 100_000))
        await #expect {
            try await client.set(place("a"), to: text)
        } throws: { error in
            if case ConnectionError.disconnected(.closedByServer(code: 1009, _)) = error { true } else { false }
        }
    }

    // MARK: TLS

    private func secureDatabase() throws -> (TestDatabase, certificate: String, TestFolder) {
        let files = try TestFolder()
        let certificate = try files.write(FixedCertificate.certificate, as: "certificate.pem")
        let key = try files.write(FixedCertificate.key, as: "key.pem")
        let database = try TestDatabase { configuration, _ in
            configuration.tls = ServerConfiguration.TLSFiles(certificate: certificate, key: key)
        }
        return (database, certificate, files)
    }

    @Test("everything over TLS")
    func tls() async throws {
        let (database, certificate, files) = try secureDatabase()
        var options = ConnectionOptions.patient
        options.authorities = try TLSContext.client(trusting: .file(certificate))
        let client = try await database.connect(options: options)
        var changes = try await client.listen(path("a")).makeAsyncIterator()
        let text = CanonicalJSON(string: [UInt8](repeating: 0x78, count: 300_000))
        try await client.set(place("a"), to: text)
        #expect(try await client.get(path("a")) == text)
        #expect(try await changes.required() == .set("a", "null"))
        #expect(try await changes.required() == .set(.init(target: place("a"), value: text)))
        withExtendedLifetime(files) {}
    }

    @Test("a database trusts the authorities that it is told, and no others")
    func databaseOverTLS() async throws {
        let (server, certificate, files) = try secureDatabase()
        let trusting = try server.client { $0.certificateAuthorityFile = certificate }
        try await trusting.reference(withPath: "a").setValue(1)
        let other = try files.write(FixedCertificate.certificate.replacing("MIIB", with: "MIIA"), as: "other.pem")
        let unusable = #expect(throws: DatabaseError.self) { try server.client { $0.certificateAuthorityFile = other } }
        let reason = "the authorities cannot be used: read the certificate authorities \(other): "
        #expect(unusable?.description.hasPrefix(reason) == true)
        let suspicious = try server.client()
        let error = await #expect(throws: DatabaseError.self) {
            try await suspicious.reference(withPath: "a").getData()
        }
        #expect(error?.description.contains("certificateAuthorityFile (--ca) names the authority") == true)
        withExtendedLifetime(files) {}
    }

    @Test("a certificate that nobody vouches for is refused")
    func untrusted() async throws {
        let (database, _, files) = try secureDatabase()
        await #expect {
            _ = try await database.connect()
        } throws: { error in
            guard case ConnectionError.disconnected(.unreachable(let text)) = error else { return false }
            return text.contains("certificate")
        }
        withExtendedLifetime(files) {}
    }
}

extension RandomTrees {
    /// Of keys from the pool.
    fileprivate mutating func shortPath() -> Path {
        let keys = (0..<Int.random(in: 0...3, using: &random)).map { _ in key() }
        return Path(keys.compactMap { try? Key(validating: String(decoding: $0, as: UTF16.self)) })
    }
}
