import Glibc
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthServer
@testable import HearthServerLog

/// A server whose tree file changes under it, as on a disk that fails (docs/architecture/storage.md, Damage).
@Suite("A server with a damaged row", .timeLimit(.minutes(15)))
struct DamagedRowTests {
    private let folder = TemporaryFolder()

    private func start() throws -> RealtimeTestServer {
        try RealtimeTestServer { $0.dataFolder = folder.path }
    }

    /// Changes a digit of a value in the tree file: that of the row in use, since deleted rows are no longer read.
    private func damage(_ value: String) throws {
        let path = folder.path + "/default.tree"
        let bytes = TemporaryFolder.contents(of: path)
        let pattern = Array(value.utf8)
        let places = bytes.indices.filter { bytes[$0] == pattern[0] && bytes[$0...].starts(with: pattern) }
        try #require(!places.isEmpty, "\(value) is not in the tree file")
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        for place in places { try #require(pwrite(descriptor, "8", 1, off_t(place)) == 1) }
    }

    @Test("refuses what reads it, names it in the log once, serves everything else, and stays ready")
    func damagedRow() throws {
        do {
            let client = try start().connectREST()
            // Enough data that the first reads bring only some pages into memory.
            let note = String(repeating: "x", count: 2000)
            for number in 10...90 {
                for (key, value) in [("balance", "7000\(number)"), ("note", "\"\(note)\"")] {
                    #expect(try client.ask("PUT", "/u\(number)/\(key).json", [], value).status == 200)
                }
            }
        }
        // A clean stop leaves all in the tree file.
        let server = try start()
        let client = try server.connectREST()
        #expect(try client.ask("GET", "/u10/balance.json").text == "700010")
        #expect(try client.ask("GET", "/readyz").text == "ready\n")
        try damage("700050")

        // The second time as the first.
        for _ in 0..<2 {
            // All of a small object is one row.
            for place in ["/u50/balance.json", "/u50/note.json", "/u50.json", "/.json"] {
                let answer = try client.ask("GET", place)
                #expect(answer.status == 503, "\(place): \(answer.text)")
                #expect(answer.text.contains("stored data is damaged"), "\(place): \(answer.text)")
                #expect(!answer.text.contains("800050"), "\(place): \(answer.text)")
                #expect(!answer.text.contains("/tmp"), "\(place): \(answer.text)")
            }
        }
        let peer = try server.connect("/.ws?v=5&ns=default")
        _ = try peer.receive()
        for (number, action) in [(1, "g"), (2, "q")] {
            try peer.send(number, action, #"{"p":"u50","h":""}"#)
            let answer = try #require(try peer.receiveMessage())
            #expect(answer.hasPrefix(#"{"t":"d","d":{"r":\#(number),"b":{"s":"unavailable","#), "\(answer)")
        }
        let damaged = server.server.services.log.recentLines.filter { $0.contains(" database.damaged ") }
        #expect(damaged.count == 1, "\(damaged)")
        #expect(damaged.first?.contains(" error database.damaged database=default ") == true, "\(damaged)")
        #expect(damaged.first?.contains("the row of /u50 has a wrong checksum") == true, "\(damaged)")

        // All else is served, and written.
        #expect(try client.ask("GET", "/u10/balance.json").text == "700010")
        #expect(try client.ask("GET", "/u90/balance.json").text == "700090")
        #expect(try client.ask("PUT", "/u10/balance.json", [], "5").status == 200)
        #expect(try client.ask("GET", "/u10/balance.json").text == "5")
        #expect(try client.ask("GET", "/readyz").text == "ready\n")

        // Nothing is written on top of what cannot be read. The first attempt has memory built again, and writes are
        // refused until that is done.
        #expect(try client.ask("PUT", "/u50/balance.json", [], "1").status == 503)
        while try client.ask("PUT", "/u10/balance.json", [], "6").status == 503 { usleep(10_000) }
        // Further ones are no trouble for others.
        for (number, place) in ["/u50/balance.json", "/u50.json", "/u50/new.json"].enumerated() {
            #expect(try client.ask("PUT", place, [], "1").status == 503, "\(place)")
            let update = "{\"u50/balance\":1,\"u11/balance\":1}"
            #expect(try client.ask("PATCH", "/.json", [], update).status == 503)
            #expect(try client.ask("PUT", "/u10/balance.json", [], "\(number)").status == 200, "\(place)")
            #expect(try client.ask("GET", "/readyz").text == "ready\n", "\(place)")
        }
        #expect(try client.ask("GET", "/u11/balance.json").text == "700011")
        #expect(try client.ask("GET", "/u90/balance.json").text == "700090")
    }

    @Test("sends the other events of triggers, and names the damaged ones in the log once")
    func events() async throws {
        let isBack = Mutex(false)
        let receiver = try EventReceiver { _ in isBack.withLock { $0 } ? 200 : 500 }
        do {
            let client = try start().connectREST()
            let triggers = ["s", "t"].map { #"{"name":"\#($0)","on":"created","url":"\#(receiver.url)"}"# }
            let settings = #"{"settings":{"$place":{".trigger":[\#(triggers.joined(separator: ","))]}}}"#
            let target = "/.settings/settings.json"
            #expect(try client.ask("PUT", target, RESTClient.owner, settings).status == 200)
            for number in 10...14 {
                #expect(try client.ask("PUT", "/u\(number).json", [], "7000\(number)").status == 200)
            }
        }
        try damage("700012")
        isBack.withLock { $0 = true }
        let count = receiver.posts.count
        let server = try start()
        try await eventually("the other events") { receiver.posts.count >= count + 8 }
        let taken = receiver.posts.dropFirst(count)
        #expect(Set(taken.map(\.id)).count == 8)
        #expect(!taken.contains { $0.text.contains("00012") })
        let damaged = server.server.services.log.recentLines.filter { $0.contains(" database.damaged ") }
        #expect(damaged.count == 2, "\(damaged)")
        for name in ["s", "t"] {
            #expect(damaged.contains { $0.contains("of the trigger '\(name)' has a wrong checksum") }, "\(damaged)")
        }
    }

    @Test("writes everything else to the tree file, though what is left beside the row would fit into one")
    func siblings() throws {
        let keys = (10...60).map { "k\($0)" }
        do {
            let client = try start().connectREST()
            for key in keys {
                let text = "\"7000\(key)\(String(repeating: "x", count: 100))\""
                #expect(try client.ask("PUT", "/list/\(key).json", [], text).status == 200)
            }
        }
        do {
            let server = try start()
            try damage("7000k30")
            let client = try server.connectREST()
            for key in keys where key != "k30" {
                #expect(try client.ask("DELETE", "/list/\(key).json").status == 200)
            }
            #expect(try client.ask("PUT", "/other.json", [], "1").status == 200)
            try server.beginToStop()
            server.waitForEnd()
            let lines = server.server.services.log.recentLines.filter { $0.contains(" tree.packing-failed ") }
            #expect(lines.count == 1, "\(lines)")
            #expect(lines.first?.contains("the row of /list/k30 has a wrong checksum") == true, "\(lines)")
        }
        let client = try start().connectREST()
        #expect(try client.ask("GET", "/other.json").text == "1")
        #expect(try client.ask("GET", "/list/k10.json").text == "null")
        #expect(try client.ask("GET", "/list/k30.json").status == 503)
    }
}
