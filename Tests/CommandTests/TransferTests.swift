import HearthServerSupport
import Glibc
import HearthServer
import HearthJSONTree
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthWireProtocol
import HearthClientSession
import HearthConnection

@Suite("Export, import, backup and restore", .timeLimit(.minutes(15)))
struct TransferTests {
    private typealias Outcome = HearthProcess.Outcome

    private func success(_ output: String = "") -> Outcome { Outcome(code: 0, output: output, errors: "") }

    private func contents(_ path: String) -> String {
        String(decoding: TemporaryFolder.contents(of: path), as: UTF8.self)
    }

    /// An object of about this many bytes, over many rows.
    private func large(_ bytes: Int, seed: UInt64) throws -> CanonicalJSON {
        var trees = RandomTrees(seed: seed)
        var text = "{"
        var index = 0
        while text.utf8.count < bytes {
            let tree = trees.tree(depth: 4)
            if tree.isEmpty { continue }
            text += "\(index > 0 ? "," : "")\"part \(index)\":\(tree.canonicalText)"
            index += 1
        }
        return try json(text + "}")
    }

    // MARK: Export and import

    @Test("what is exported, imported and exported again has the same bytes")
    func roundTrip() async throws {
        let database = try TestDatabase()
        let folder = TemporaryFolder()
        let (first, second) = (folder.path + "/first.json", folder.path + "/second.json")
        for seed in 0..<3 as Range<UInt64> {
            var trees = RandomTrees(seed: seed)
            let value = seed == 0 ? try large(1_300_000, seed: seed) : CanonicalJSON(trees.tree(depth: 6).canonicalText)
            let client = try await database.connect(database: "a\(seed)")
            for (key, range) in value.isLeaf ? [] : value.children.map({ ($0.key, $0.value) }) {
                try await client.set(WriteTarget(path: Path([key])), to: value.part(range))
            }
            let expected = try await client.get(.root)
            for (number, text) in [first, second].enumerated() {
                let url = "\(database.urlText)/?ns=\(number == 0 ? "a" : "b")\(seed)"
                if number == 1 {
                    #expect(try await HearthProcess.run("import", url, first) == success(), "seed \(seed)")
                }
                #expect(try await HearthProcess.run("export", url, text, "--overwrite") == success(), "seed \(seed)")
                #expect(contents(text) == "\(expected)\n", "seed \(seed)")
            }
        }
        #expect(TemporaryFolder.files(in: folder.path) == ["first.json", "second.json"])
    }

    @Test("an export is that of one moment, whatever is written meanwhile")
    func oneMoment() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        try await client.set(place("m"), to: try large(1_200_000, seed: 1))
        let writer = Task {
            for number in 0..<100_000 {
                if Task.isCancelled { break }
                let value = CanonicalJSON(integer: Int64(number))
                try await client.update(
                    .root, [.init(target: place("a"), value: value), .init(target: place("z"), value: value)])
            }
        }
        for _ in 0..<3 {
            let export = try await HearthProcess.run("export", "\(database.urlText)/")
            #expect(export.code == 0)
            let value = try json(export.output)
            #expect(value.value(at: "a") == value.value(at: "z"))
            #expect(value.value(at: "m") == (try large(1_200_000, seed: 1)))
        }
        writer.cancel()
        _ = try? await writer.value
    }

    @Test("places, forms and TLS")
    func forms() async throws {
        let files = try TestFolder()
        let certificate = try files.write(FixedCertificate.certificate, as: "certificate.pem")
        let key = try files.write(FixedCertificate.key, as: "key.pem")
        let database = try TestDatabase { configuration, _ in
            configuration.tls = ServerConfiguration.TLSFiles(certificate: certificate, key: key)
        }
        let trust = ["SSL_CERT_FILE": certificate]
        let url = database.urlText
        let text = #"{"é ?%":{".priority":1,".value":5},"list":[null,{"n":1}]}"#
        #expect(
            try await HearthProcess.run("import", "\(url)/a%20b/c", "-", input: text, environment: trust) == success())
        #expect(
            try await HearthProcess.run("export", "a b", "--url", url, environment: trust)
                == success(#"{"c":{"list":{"1":{"n":1}},"é ?%":{".priority":1,".value":5}}}"# + "\n"))
        #expect(
            try await HearthProcess.run("export", "/a b/c/é ?%", "--url", url, environment: trust)
                == success(#"{".priority":1,".value":5}"# + "\n"))
        #expect(
            try await HearthProcess.run("export", "/a b/c/list", "--url", url, "--pretty", environment: trust)
                == success("{\n  \"1\" : {\n    \"n\" : 1\n  }\n}\n"))
        #expect(try await HearthProcess.run("export", "\(url)/none", environment: trust) == success("null\n"))
        let untrusted = try await HearthProcess.run("export", "\(url)/none")
        #expect(untrusted.code == 69)
        #expect(untrusted.errors.contains("certificate"))
    }

    @Test(
        "an export that breaks off is an error, and leaves no file",
        arguments: [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1",
            "HTTP/1.1 200 OK\r\nContent-Le",
            "",
        ])
    func broken(answer: String) async throws {
        let server = try BrokenServer(answer)
        let folder = TemporaryFolder()
        let outcome = try await HearthProcess.run("export", "\(server.urlText)/", folder.path + "/out.json")
        #expect(outcome.code == 69)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("hearth export: "))
        #expect(TemporaryFolder.files(in: folder.path) == [])
    }

    @Test("an export to a file that is interrupted leaves no file", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        let server = try BrokenServer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1", ends: false)
        let folder = TemporaryFolder()
        let process = try HearthProcess(["export", "\(server.urlText)/", folder.path + "/out.json"])
        try await eventually("the beginning of the file") {
            process.hasEnded
                || TemporaryFolder.files(in: folder.path).contains { !contents("\(folder.path)/\($0)").isEmpty }
        }
        process.signal(signal)
        #expect(try await process.outcome() == Outcome(code: 128 + signal, output: "", errors: ""))
        #expect(TemporaryFolder.files(in: folder.path) == [])
    }

    @Test("what the server refuses, and what cannot be written, is said")
    func exportErrors() async throws {
        let server = try BrokenServer("HTTP/1.1 503 Oh\r\nContent-Length: 15\r\n\r\n{\"error\":\"no!\"}")
        let refused = try await HearthProcess.run("export", "\(server.urlText)/")
        #expect(refused == Outcome(code: 1, output: "", errors: "hearth export: HTTP 503: no!\n"))
        let usage = try await HearthProcess.run("export", "/", "/none/x", "--url", server.urlText)
        #expect(usage.code == 64)
        #expect(usage.errors.contains("cannot write /none/x: No such file or directory"))
        let database = try TestDatabase()
        try await database.connect().set(place("a"), to: try large(500_000, seed: 2))
        let full = try HearthProcess(["export", "\(database.urlText)/", "/dev/null/x"])
        #expect(try await full.outcome().code == 64)
    }

    @Test("an import does not replace what is there without being told to")
    func confirmation() async throws {
        let database = try TestDatabase()
        let folder = TemporaryFolder()
        let file = folder.path + "/x.json"
        TemporaryFolder.write(Array(#"{"b":{"y":2},"c":null}"#.utf8), to: file)
        let client = try await database.connect()
        let old = try json(#"{"a":1,"b":{"x":1},"c":3}"#)
        try await client.set(place("p"), to: old)
        let url = database.urlText + "/p"
        for input in [file, "-"] {
            let process = try HearthProcess(["import", url, input])
            process.write(#"{"b":{"y":2},"c":null}"#)
            let outcome = try await process.outcome()
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("replace what is in /p, which is not empty: -y says"))
        }
        #expect(try await client.get(path("p")) == old)
        #expect(try await HearthProcess.run("import", url, file, "--merge") == success())
        #expect(try await client.get(path("p")) == json(#"{"a":1,"b":{"y":2}}"#))
        let replaced = try await HearthProcess.run("import", url, "-", "--yes", input: #"{"n":[1]}"#)
        #expect(replaced.code == 0)
        #expect(replaced.errors.hasPrefix("hearth import: replace what is in /p at ws://"))
        #expect(try await client.get(path("p")) == json(#"{"n":{"0":1}}"#))
        #expect(try await HearthProcess.run("import", url, "-", "--yes", input: "null").code == 0)
        #expect(try await client.get(path("p")).isNull)
        #expect(try await HearthProcess.run("import", url + "/q", "-", input: "true") == success())
        #expect(try await client.get(path("p")) == json(#"{"q":true}"#))
    }

    @Test("wrong JSON in a file changes nothing; from a pipe it says what is written")
    func wrongJSON() async throws {
        let database = try TestDatabase()
        let client = try await database.connect()
        try await client.set(place("p"), to: json("1"))
        let folder = TemporaryFolder()
        let file = folder.path + "/x.json"
        let good = try large(1_600_000, seed: 4).bytes.dropLast()
        let bad = Array(good) + #","x":{"y":[1,{"#.utf8 + #""bad/key":1}]}}"#.utf8
        TemporaryFolder.write(bad, to: file)
        let url = database.urlText + "/p"
        let checked = try await HearthProcess.run("import", url, file, "--yes")
        let problem =
            "at byte \(good.count + 14), in /p/x/y/1: a key contains one of . $ # [ ] / or a control character"
        #expect(
            checked
                == Outcome(code: 65, output: "", errors: "hearth import: \(file): \(problem); nothing was written\n"))
        #expect(try await client.get(path("p")) == json("1"))
        let piped = try await HearthProcess.run(
            "import", url, "-", "--yes", input: String(decoding: bad, as: UTF8.self))
        #expect(piped.code == 65)
        let lines = piped.errors.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains("replace what is in") == true)
        let parts = lines[1].split(separator: ";")
        #expect(parts.first == "hearth import: standard input: \(problem)")
        let words = try #require(parts.last).split(separator: " ")
        let written = try #require(words.compactMap { Int($0) }.first, "\(piped.errors)")
        #expect(written > 500_000)
        #expect(written < good.count)
        // The last child before that byte is there.
        let before = try CanonicalJSON.parse(Array(good.prefix(written)) + Array("}".utf8)).value
        let last = try #require(before.children.map(\.key).last)
        #expect(try await client.get(Path([try Key(validating: "p"), last])) == before.value(at: Path([last])))

        TemporaryFolder.write(Array(String(repeating: "[", count: 40).utf8), to: file)
        let deep = try await HearthProcess.run("import", url, file)
        #expect(deep.code == 65)
        #expect(deep.errors.contains("/0/0/0: deeper than 32 levels; nothing was written"))
        #expect(try await HearthProcess.run("import", url, folder.path + "/none").code == 64)
    }

    // MARK: Backup and restore

    /// A server of its own on a folder, which says where it listens.
    private func serve(_ folder: String, _ options: String...) async throws -> (process: HearthProcess, url: String) {
        let process = try HearthProcess(
            [
                "serve", "--dev", "--data", folder, "--listen", "127.0.0.1:0", "--durability", "process",
            ] + options)
        while let line = await process.line() {
            if let address = line.split(separator: " ").last, line.hasPrefix("hearth: ready on ") {
                return (process, "ws://\(address.dropLast())")
            }
        }
        throw ServerDidNotStart()
    }

    private struct ServerDidNotStart: Error {}

    @Test("a backup of a running server has every write acknowledged before, and restores to that")
    func backup() async throws {
        let folder = TemporaryFolder()
        let (data, copy) = (folder.path + "/data", folder.path + "/copy")
        var (server, url) = try await serve(data)
        #expect(
            try await HearthProcess.run("set", "/m", "-", "--url", url, input: "\(large(300_000, seed: 5))")
                == success())
        // One writer that never rests.
        let counting = url
        let acknowledged = LastNumber()
        let loop = try TestLoop()
        let writer = Task {
            let client = try await Connection.open(DatabaseURL(counting), on: loop.loop, options: .persistent)
            while !Task.isCancelled {
                let number = acknowledged.value + 1
                let value = CanonicalJSON(integer: Int64(number))
                try await client.update(
                    .root,
                    [.init(target: place("a"), value: value), .init(target: place("z/\(number % 500)"), value: value)])
                acknowledged.value = number
            }
        }
        var least: [Int] = []
        for number in 0..<3 {
            try await eventually("writes") { acknowledged.value >= (number + 1) * 20 }
            least.append(acknowledged.value)
            let made = try await HearthProcess.run("backup", "\(copy)\(number)", "--data", data)
            #expect(made.code == 0, "\(made)")
            #expect(made.output.hasPrefix("\(copy)\(number): default up to sequence "), "\(made)")
        }
        writer.cancel()
        _ = try? await writer.value
        let busy = try await HearthProcess.run("restore", "\(copy)0", "--data", data)
        #expect(busy.code == 1)
        #expect(busy.errors.contains("another server uses the data folder"))
        server.signal(SIGTERM)
        #expect(try await server.outcome().code == 0)

        for number in 0..<3 {
            let checked = try await HearthProcess.run("restore", "\(copy)\(number)", "--check")
            #expect(checked.code == 0)
            let restored = try await HearthProcess.run("restore", "\(copy)\(number)", "--data", data)
            #expect(restored.code == 0, "\(restored)")
            #expect(restored.output.hasPrefix(checked.output), "\(restored)")
            #expect(restored.output.contains("kept what was there as \(data)/default.tree.20"))
            (server, url) = try await serve(data)
            let export = try await HearthProcess.run("export", "\(url)/")
            let value = try json(export.output)
            let count = try #require(Int(value.value(at: "a").description))
            #expect(count >= least[number])
            // All writes up to that one, and none after it.
            for slot in max(1, count - 499)...count {
                #expect(value.value(at: try path("z/\(slot % 500)")).description == "\(slot)")
            }
            #expect(value.value(at: "m") == (try large(300_000, seed: 5)))
            server.signal(SIGTERM)
            #expect(try await server.outcome().code == 0)
        }
    }

    @Test("an archive restores a path into the running database, and a database into a folder, as they were")
    func archive() async throws {
        let folder = TemporaryFolder()
        let (data, archive) = (folder.path + "/data", folder.path + "/archive")
        let (server, url) = try await serve(data, "--archive", archive, "--archive-seconds", "1")
        func set(_ text: String) async throws -> String {
            #expect(try await HearthProcess.run("set", "/rooms", text, "--url", url) == success())
            // A commit of this millisecond is restored, one of the next is not.
            let time = WallClock.milliseconds
            try await eventually("the next millisecond") { WallClock.milliseconds > time }
            return "\(Timestamp(milliseconds: time))"
        }
        // A database is archived from its first copy on, which is made a second after the first write.
        _ = try await set("0")
        try await eventually("the first copy") { !ArchiveFolder(archive, database: "default").chains.isEmpty }
        let times = [try await set(#"{"a":1}"#), try await set(#"{"a":{".value":2,".priority":3}}"#)]
        _ = try await set("null")
        for (time, value) in zip(times, [#"{"a":1}"#, #"{"a":{".priority":3,".value":2}}"#]) {
            // A recent write is archived within a second.
            var outcome = Outcome(code: 1, output: "", errors: "")
            var found = ""
            let start = MonotonicTime.current
            repeat {
                outcome = try await HearthProcess.run(
                    "restore", "--archive", archive, "--at", time, "--path", "/rooms", "--url", url, "--yes")
                found = try await HearthProcess.run("export", "\(url)/rooms").output
            } while found != value + "\n" && MonotonicTime.current - start < Patience.limit
            #expect(outcome.code == 0, "\(outcome)")
            #expect(outcome.output.hasPrefix("restored /rooms as of \(time), "), "\(outcome)")
            #expect(found == value + "\n")
        }
        let path = ["restore", "--archive", archive, "--at", times[0], "--path", "/rooms", "--url", url]
        let refused = try await HearthProcess(path).outcome()
        #expect(refused.code == 1, "\(refused)")
        #expect(refused.output.isEmpty, "\(refused)")
        #expect(refused.errors.hasPrefix("hearth restore: replace what is in /rooms at \(url)"), "\(refused)")
        #expect(refused.errors.hasSuffix(" by what it was at \(times[0]): -y says that you are sure\n"), "\(refused)")
        #expect(try await HearthProcess.run("export", "\(url)/rooms").output.contains(".priority"))
        // Nothing is lost where nothing is.
        _ = try await set("null")
        let asJSON = try await HearthProcess(path + ["-o", "json"]).outcome()
        #expect(asJSON.code == 0 && asJSON.errors.isEmpty, "\(asJSON)")
        #expect(
            asJSON.output.contains(
                #/^\{"database":"default","path":"\/rooms","bytes":7,"sequence":2,"time":\d+\}\n$/#), "\(asJSON)")
        // Ending a server archives the last commits.
        let last = try await set(#""the last""#)
        server.signal(SIGTERM)
        #expect(try await server.outcome().code == 0)
        let checked = try await HearthProcess.run("restore", "--archive", archive, "--check")
        #expect(checked.code == 0, "\(checked)")
        #expect(checked.output.hasPrefix("default: from 20"), "\(checked)")
        let windows = try await HearthProcess.run("restore", "--archive", archive, "--check", "-o", "jsonl")
        #expect(windows.output.hasPrefix(#"{"database":"default","begin":1"#), "\(windows)")
        #expect(windows.output.contains("\n" + #"{"accounts":"#), "\(windows)")
        let copy = folder.path + "/copy"
        let restored = try await HearthProcess.run("restore", "--archive", archive, "--at", last, "--data", copy)
        #expect(restored.code == 0, "\(restored)")
        #expect(restored.output.hasPrefix("restored default as of \(last) in \(copy), up to sequence "), "\(restored)")
        let (other, restoredURL) = try await serve(copy)
        #expect(try await HearthProcess.run("export", "\(restoredURL)/rooms").output == "\"the last\"\n")
        other.signal(SIGTERM)
        #expect(try await other.outcome().code == 0)
        let all = folder.path + "/all"
        let everything = try await HearthProcess.run("restore", "--archive", archive, "--all", "--data", all)
        #expect(everything.code == 0, "\(everything)")
        #expect(everything.errors == "", "\(everything)")
        #expect(everything.output.contains("restored default as of the end of the archive in \(all), up to sequence "))
        #expect(everything.output.contains("restored accounts, keys, rules and settings as of 20"))
        #expect(checked.output.contains("\naccounts, keys, rules and settings: "))
        let (whole, wholeURL) = try await serve(all)
        #expect(try await HearthProcess.run("export", "\(wholeURL)/rooms").output == "\"the last\"\n")
        whole.signal(SIGTERM)
        #expect(try await whole.outcome().code == 0)
        let occupied = try await HearthProcess.run("restore", "--archive", archive, "--all", "--data", all)
        #expect(occupied.code == 1, "\(occupied)")
        #expect(occupied.errors.contains("\(all) is not empty"), "\(occupied)")
        // One that fails half way leaves a folder that nothing opens.
        let chain = try #require(TemporaryFolder.files(in: archive + "/default").first)
        TemporaryFolder.write([1, 2, 3], to: "\(archive)/default/\(chain)/base.backup")
        let part = folder.path + "/part"
        let failed = try await HearthProcess.run("restore", "--archive", archive, "--all", "--data", part)
        #expect(failed.code == 1, "\(failed)")
        #expect(
            failed.errors.contains("; the restore is not complete: remove these files from \(part), and nothing else"),
            "\(failed)")
        let refusal = try await HearthProcess.run("check", "--data", part)
        #expect(refusal.errors.contains("a restore into \(part) has not come to its end"), "\(refusal)")
        let early = try await HearthProcess.run(
            "restore", "--archive", archive, "--at", "2020-01-01T00:00:00Z", "--data", folder.path + "/none")
        #expect(early.code == 1, "\(early)")
        #expect(early.errors.contains("the archive of default begins at 20"), "\(early)")
        // An archive whose disk is not mounted, say.
        for words in [["--check"], ["--all"], [], ["--path", "/rooms", "--url", url, "--yes"]] {
            let gone = try await HearthProcess(["restore", "--archive", archive + "/gone"] + words).outcome()
            #expect(gone.code == 1, "\(gone)")
            #expect(
                gone.errors == "hearth restore: cannot read \(archive)/gone: No such file or directory\n", "\(gone)")
        }
    }

    @Test(
        "an archive that cannot be asked so says why",
        arguments: [
            (
                ["--archive", "x", "--at", "yesterday"],
                "--at must be a time like 2026-11-22T03:15:00Z, not 'yesterday'"
            ),
            (["--archive", "x", "--path", "/a"], "--path needs the server that runs"),
            (["x", "--at", "2026-11-22T03:15:00Z"], "--at"),
            (["x", "--all"], "--all is for a restore from an archive"),
            (["--archive", "x", "--all", "--database", "a"], "--database cannot be given with it"),
            (["--archive", "x", "--all", "--path", "/a", "--url", "http://a"], "--path cannot be given with it"),
            (["--archive", "x", "--check", "--path", "/a", "--url", "http://a"], "--path cannot be given with it"),
            (["--archive", "x", "--path", "/a", "--url", "http://a", "--data", "d"], "--data cannot be given with it"),
            (["--archive", "x", "--url", "http://a"], "--url is for --path"),
            (["x.backup", "--url", "http://a"], "--url is for --path"),
            (["x.backup", "--key", "k.json"], "--key is for --path"),
        ])
    func archiveUsage(words: [String], message: String) async throws {
        let outcome = try await HearthProcess(["restore"] + words).outcome()
        #expect(outcome.code == 64, "\(outcome)")
        #expect(outcome.errors.contains(message), "\(outcome)")
    }

    @Test("a backup can become another database")
    func otherName() async throws {
        let folder = TemporaryFolder()
        let (data, copy) = (folder.path + "/data", folder.path + "/copy")
        var (server, url) = try await serve(data)
        #expect(try await HearthProcess.run("set", "/a", "1", "--url", url) == success())
        #expect(try await HearthProcess.run("backup", copy, environment: ["HEARTH_DATA": data]).code == 0)
        let missing = try await HearthProcess.run("backup", copy + "2", "--data", data, "--database", "none")
        #expect(
            missing == Outcome(code: 1, output: "", errors: "hearth backup: there is no database none in \(data)\n"))
        server.signal(SIGTERM)
        _ = try await server.outcome()
        let restored = try await HearthProcess.run("restore", copy, "--data", data, "--database", "other")
        #expect(restored.code == 0)
        #expect(restored.output.hasSuffix("restored other in \(data)\n"))
        (server, url) = try await serve(data)
        for name in ["default", "other"] {
            #expect(
                try await HearthProcess.run("get", "/", "--url", url, "--database", name) == success("{\"a\":1}\n"))
        }
        #expect(try await HearthProcess.run("restore", data + "/default.tree", "--check").code == 1)
    }
}

/// A number that several tasks see.
private final class LastNumber: Sendable {
    private let number = Mutex(0)

    var value: Int {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}
