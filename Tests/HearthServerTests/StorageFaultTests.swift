import HearthEventLoop
import Glibc
@testable import HearthDatabaseHost
@testable import HearthServer
import HearthIdentity
import HearthRealtimeDatabase
import HearthSecurityRules
import Synchronization
import HearthTestSupport
import Testing
import HearthTreeStorage
@testable import HearthAccountEndpoints

/// A server whose files fail, vanish or were damaged before it started.
@Suite("A server with broken storage", .timeLimit(.minutes(15)))
struct StorageFaultTests {
    private let disk = SimulatedDisk()
    private var data: String { disk.path + "/data" }

    private func start(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws -> RealtimeTestServer {
        try RealtimeTestServer {
            $0.dataFolder = data
            configure(&$0)
        }
    }

    /// Asks until the answer is as it should be; the server looks at its files about once a second.
    private func ask(
        _ server: RealtimeTestServer, _ target: String, until isRight: (RESTClient.Answer) -> Bool
    ) throws -> RESTClient.Answer {
        var answer: RESTClient.Answer?
        try blockUntil("what \(target) should be") {
            let latest = try server.connectREST().ask("GET", target)
            answer = latest
            return isRight(latest)
        }
        return try #require(answer)
    }

    @Test("answers each connection in order while the log can neither be written nor read")
    func order() throws {
        let server = try start()
        let peers = try (0..<4).map { _ in try server.connect("/.ws?v=5&ns=default") }
        for peer in peers {
            _ = try peer.receive()
            try peer.send(0, "p", #"{"p":"a","d":0}"#)
            #expect(try peer.receiveMessage() == RealtimePeer.response(0))
        }
        let failedWrites = Mutex(0)
        let failedReads = Mutex(0)
        disk.observe { call, path in
            guard path.hasPrefix("data/default.log") else { return 0 }
            switch call {
            case .write: failedWrites.withLock { $0 += 1 }
            case .read: failedReads.withLock { $0 += 1 }
            default: return 0
            }
            return EIO
        }
        for number in 1...20 {
            for peer in peers { try peer.send(number, number % 3 == 0 ? "g" : "p", #"{"p":"a","d":\#(number)}"#) }
            usleep(20_000)
        }
        // Each attempt to recover reads the log.
        try blockUntil("attempts to recover") { failedReads.withLock { $0 } > 15 }
        #expect(failedWrites.withLock { $0 } > 0)
        disk.observe(nil)
        var refusals = 0
        for peer in peers {
            for number in 1...20 {
                let answer = try #require(try peer.receiveMessage())
                #expect(answer.hasPrefix(#"{"t":"d","d":{"r":\#(number),"#), "\(number): \(answer)")
                if !answer.contains(#""s":"ok""#) { refusals += 1 }
            }
        }
        #expect(refusals > 0)
    }

    @Test("refuses reads and writes of a database whose restore was interrupted, and is not ready")
    func interruptedRestore() throws {
        _ = FolderSync.makeFolder(data)
        TemporaryFolder.write([], to: data + "/default.restoring")
        let server = try start()
        for method in ["GET", "PUT"] {
            let answer = try server.connectREST().ask(method, "/a.json", [], "1")
            #expect(answer.status == 503)
            #expect(answer.text.contains("a restore of the database was interrupted"))
            #expect(!answer.text.contains("/tmp"))
        }
        let ready = try server.connectREST().ask("GET", "/readyz")
        #expect(ready.status == 503)
        #expect(ready.text.contains("a restore of default was interrupted: run 'hearth restore' again"))
        // Other databases are served.
        #expect(try server.connectREST().ask("PUT", "/a.json?ns=other", [], "1").status == 200)
    }

    @Test("is not ready when the default database cannot be opened, from the start, and is once it can")
    func unreadable() throws {
        _ = FolderSync.makeFolder(data)
        TemporaryFolder.write(Array(repeating: 7, count: 5000), to: data + "/default.log")
        let server = try start()
        let answer = try server.connectREST().ask("GET", "/readyz")
        #expect(answer.status == 503)
        #expect(answer.text.hasPrefix("not ready: the database 'default' cannot be opened: "))
        unlink(data + "/default.log")
        #expect(try ask(server, "/readyz") { $0.status == 200 }.text == "ready\n")
        #expect(try server.connectREST().ask("PUT", "/a.json", [], "1").status == 200)
    }

    @Test("is not ready when the log has lost its end while the server was stopped")
    func lostEnd() throws {
        do {
            let client = try start().connectREST()
            for number in 1...3 { #expect(try client.ask("PUT", "/a.json", [], "\(number)").status == 200) }
            for file in ["log", "log-wal"] {
                let copy = TemporaryFolder.contents(of: "\(data)/default.\(file)")
                TemporaryFolder.write(copy, to: "\(disk.path)/\(file)")
            }
            for number in 4...6 { #expect(try client.ask("PUT", "/a.json", [], "\(number)").status == 200) }
        }
        // A clean stop leaves all that the log has in the tree file, which therefore knows how far it reached.
        for file in ["log", "log-wal"] {
            #expect(rename("\(disk.path)/\(file)", "\(data)/default.\(file)") == 0)
        }
        let server = try start()
        let ready = try server.connectREST().ask("GET", "/readyz")
        #expect(ready.status == 503, "\(ready.text)")
        #expect(ready.text.contains("default.tree is ahead of default.log"), "\(ready.text)")
        #expect(try server.connectREST().ask("GET", "/a.json").status == 503)
        #expect(try server.connectREST().ask("PUT", "/a.json", [], "7").status == 503)
    }

    @Test("acknowledges nothing once its folder was moved, and continues when it is back")
    func movedFolder() throws {
        let server = try start()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], "1").status == 200)
        #expect(try client.ask("GET", "/readyz").status == 200)
        #expect(rename(data, data + ".away") == 0)
        let refused = try client.ask("PUT", "/a.json", [], "2")
        #expect(refused.status == 503)
        #expect(refused.text.contains("the data folder is not the one that was opened"))
        #expect(try ask(server, "/readyz") { $0.status == 503 }.status == 503)
        #expect(rename(data + ".away", data) == 0)
        #expect(try ask(server, "/readyz") { $0.status == 200 }.status == 200)
        #expect(try client.ask("PUT", "/a.json", [], "3").status == 200)
        #expect(try client.ask("GET", "/a.json").text == "3")
    }

    @Test("refuses writes when its lock was removed: a second server could start there")
    func removedLock() throws {
        let server = try start()
        let client = try server.connectREST()
        #expect(try client.ask("PUT", "/a.json", [], "1").status == 200)
        unlink(data + "/lock")
        #expect(try ask(server, "/readyz") { $0.status == 503 }.text.contains("/lock is gone"))
        #expect(try client.ask("PUT", "/a.json", [], "2").status == 503)
        #expect(try client.ask("GET", "/a.json").text == "1")
    }

    @Test("is not ready while accounts cannot be written, and is once they can")
    func accounts() throws {
        let server = try start { $0.identity = IdentityConfiguration() }
        let signUp = "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=x"
        let fields = ["Content-Type: application/json"]
        #expect(try server.connectREST().ask("POST", signUp, fields, "{}").status == 200)
        #expect(try server.connectREST().ask("GET", "/readyz").text == "ready\n")
        disk.observe { call, path in
            if case .write = call, path.hasPrefix("data/accounts.sqlite") { ENOSPC } else { 0 }
        }
        #expect(try server.connectREST().ask("POST", signUp, fields, "{}").status == 503)
        let answer = try ask(server, "/readyz") { $0.status == 503 }
        #expect(answer.text.hasPrefix("not ready: accounts cannot be read and written: "))
        disk.observe(nil)
        #expect(try ask(server, "/readyz") { $0.status == 200 }.text == "ready\n")
        #expect(try server.connectREST().ask("POST", signUp, fields, "{}").status == 200)
    }

    @Test("has its seed in place before the first request, and says when it was left out")
    func seeding() throws {
        let seed = TemporaryFolder()
        TemporaryFolder.write(Array(#"{"b":[1,2,3]}"#.utf8), to: seed.path + "/seed.json")
        do {
            let server = try start { $0.seedFile = seed.path + "/seed.json" }
            #expect(server.server.seeding == .done)
            #expect(try server.connectREST().ask("GET", "/b.json").text == "[1,2,3]")
            #expect(try server.connectREST().ask("PUT", "/b.json", [], "4").status == 200)
        }
        let server = try start { $0.seedFile = seed.path + "/seed.json" }
        #expect(server.server.seeding == .skipped)
        #expect(try server.connectREST().ask("GET", "/b.json").text == "4")
    }
}

/// What keys and rules are after a power cut at any time.
@Suite("Files that are replaced as a whole")
struct ReplacedFileTests {
    @Test("rules are the old ones or the new ones, and the new ones once they were acknowledged")
    func rules() throws {
        let disk = SimulatedDisk()
        let data = disk.path + "/data"
        let folder = try DataFolder(path: data, durability: .full)
        let rules = try RulesInForce(file: nil, folder: folder, isDevelopment: false)
        func program(_ number: Int) throws -> RulesProgram {
            try RulesProgram(parsing: Array(#"{"rules":{"p\#(number)":{".read":true}}}"#.utf8))
        }
        let states = Mutex((acknowledged: 0, attempted: 0))
        let images = Mutex(0)
        disk.beforeEachChange { [weak disk] number in
            guard let disk else { return }
            let (acknowledged, attempted) = states.withLock { $0 }
            for (index, probability) in [1, 0, 0.5].enumerated() {
                let image = disk.imageAfterPowerCut(keeping: probability, seed: UInt64(number * 3 + index))
                let text = TemporaryFolder.contents(of: image.path + "/data/a.rules")
                let found = (0...9).first { text == Array(#"{"rules":{"p\#($0)":{".read":true}}}"#.utf8) } ?? 0
                #expect(found == acknowledged || found == attempted, "cut \(number): \(found)")
                #expect(text.isEmpty == (found == 0), "cut \(number)")
                images.withLock { $0 += 1 }
            }
        }
        for number in 1...3 {
            states.withLock { $0.attempted = number }
            try rules.set(try program(number), for: "a")
            states.withLock { $0.acknowledged = number }
        }
        #expect(images.withLock { $0 } > 20)
    }

    @Test("rules and settings that are replaced together are of one replacement, and the new ones once acknowledged")
    func rulesAndSettings() throws {
        let disk = SimulatedDisk()
        let folder = try DataFolder(path: disk.path + "/data", durability: .full)
        let rules = try RulesInForce(file: nil, folder: folder, isDevelopment: false)
        @Sendable func texts(_ number: Int) -> (rules: String, settings: String) {
            (#"{"rules":{"p\#(number)":{".read":true}}}"#, #"{"settings":{"p\#(number)":{".maxChildren":1}}}"#)
        }
        let states = Mutex((acknowledged: 0, attempted: 0))
        let images = Mutex(0)
        disk.beforeEachChange { [weak disk] number in
            guard let disk else { return }
            let (acknowledged, attempted) = states.withLock { $0 }
            for (index, probability) in [1, 0, 0.5].enumerated() {
                let image = disk.imageAfterPowerCut(keeping: probability, seed: UInt64(number * 3 + index))
                let found: (rules: [UInt8], settings: [UInt8])
                do {
                    let folder = try DataFolder(path: image.path + "/data", durability: .full)
                    found = try RulesInForce(file: nil, folder: folder, isDevelopment: false).texts(of: "a")
                } catch {
                    Issue.record("cut \(number): \(error)")
                    continue
                }
                let which = (0...9).first { found.rules == Array(texts($0).rules.utf8) } ?? 0
                #expect(which == acknowledged || which == attempted, "cut \(number): \(which)")
                let settings = which == 0 ? #"{"settings":{}}"# : texts(which).settings
                #expect(found.settings == Array(settings.utf8), "cut \(number): \(which)")
                images.withLock { $0 += 1 }
            }
        }
        for number in 1...4 {
            states.withLock { $0.attempted = number }
            let (text, settings) = texts(number)
            try rules.set(
                try RulesProgram(parsing: Array(text.utf8)), try DatabaseSettings(parsing: Array(settings.utf8)),
                for: "a")
            states.withLock { $0.acknowledged = number }
        }
        #expect(images.withLock { $0 } > 60)
    }

    @Test("rules and settings whose replacement was answered with an error come in force neither later nor in part")
    func refusedRulesAndSettings() throws {
        func rulesText(_ number: Int) -> [UInt8] { Array(#"{"rules":{"p\#(number)":{".read":true}}}"#.utf8) }
        func settingsText(_ number: Int) -> [UInt8] {
            Array(#"{"settings":{"p\#(number)":{".maxChildren":1}}}"#.utf8)
        }
        var refusals = 0
        for (count, times) in (0..<12).flatMap({ count in [(count, 1), (count, 2)] }) {
            let disk = SimulatedDisk()
            let folder = try DataFolder(path: disk.path + "/data", durability: .full)
            let rules = try RulesInForce(file: nil, folder: folder, isDevelopment: false)
            func put(_ number: Int) throws {
                try rules.set(
                    try RulesProgram(parsing: rulesText(number)),
                    try DatabaseSettings(parsing: settingsText(number)), for: "a")
            }
            func expect(_ rulesNumber: Int, _ settingsNumber: Int) throws {
                let image = disk.imageAfterPowerCut(keeping: 1, seed: 0)
                let folder = try DataFolder(path: image.path + "/data", durability: .full)
                let found = try RulesInForce(file: nil, folder: folder, isDevelopment: false).texts(of: "a")
                #expect(found.rules == rulesText(rulesNumber), "\(count), \(times)")
                #expect(found.settings == settingsText(settingsNumber), "\(count), \(times)")
            }
            try put(1)
            disk.fail(after: count, .inputOutputError, times: times)
            var last = 2
            do { try put(2) } catch {
                last = 1
                refusals += 1
            }
            disk.heal()
            // With two failures, the file could not be removed either.
            if times == 1 { try expect(last, last) }
            try rules.set(try RulesProgram(parsing: rulesText(3)), for: "a")
            try expect(3, last)
        }
        #expect(refusals > 4)
    }

    @Test("signing keys that tokens were made with are there after a power cut")
    func keys() throws {
        let disk = SimulatedDisk()
        let data = disk.path + "/data"
        _ = FolderSync.makeFolder(data)
        let known = Mutex<[UInt8]>([])
        disk.beforeEachChange { [weak disk] number in
            guard let disk else { return }
            let expected = known.withLock { $0 }
            if expected.isEmpty { return }
            for (index, probability) in [1, 0, 0.5].enumerated() {
                let image = disk.imageAfterPowerCut(keeping: probability, seed: UInt64(number * 3 + index))
                let keys = try? KeyStore(folder: image.path + "/data", now: 0)
                // The key of before signs, or was replaced by a file that still has it.
                #expect(keys.map { Array($0.jwks) }?.firstRange(of: expected) != nil, "cut \(number)")
            }
        }
        let store = try KeyStore(folder: data, now: 0)
        let first = try #require(store.jwks.firstRange(of: Array(#""kid":""#.utf8)))
        known.withLock { $0 = Array(store.jwks[first.upperBound...].prefix { $0 != UInt8(ascii: "\"") }) }
        _ = try store.rotate(now: 30 * 24 * 3600)
    }
}
