import HearthEventLoop
import Glibc
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthServer
@testable import HearthServerLog
@testable import HearthAccess
@testable import HearthSystem

@Suite("The log")
struct LogTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/log" }

    private func lines(_ file: String? = nil) -> [String] {
        String(decoding: TemporaryFolder.contents(of: file ?? path), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    private func write(_ format: Log.Format) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let log = Log(level: .info, format: format, descriptor: descriptor)
        log.debug("not.written")
        log.warning("disk.slow", [("file", "a \"b\"\n"), ("ms", "12")])
        #expect(log.counts.map(\.count) == [0, 0, 1, 0])
    }

    @Test("is text with quoted values")
    func text() throws {
        try write(.text)
        let line = try #require(lines().first)
        #expect(line.hasSuffix(#"Z warning disk.slow file="a \"b\"\n" ms=12"#))
    }

    @Test("is one JSON object per line")
    func json() throws {
        try write(.json)
        let line = try #require(lines().first)
        let object = try #require(try JSONValue(parsing: Array(line.utf8)).object)
        #expect(object["level"]?.text == "warning")
        #expect(object["event"]?.text == "disk.slow")
        #expect(object["file"]?.text == "a \"b\"\n")
        #expect(object["ms"]?.text == "12")
        #expect(object["time"]?.text?.hasSuffix("Z") == true)
    }

    @Test("begins with the priority for the journal, which has times of its own")
    func journal() throws {
        try write(.journal)
        #expect(lines() == [#"<4>disk.slow file="a \"b\"\n" ms=12"#])
    }

    @Test("says at the start what runs, where, on which data and within which bounds")
    func start() throws {
        let server = try RealtimeTestServer { $0.logLevel = .info }
        let events = server.server.services.log.recentLines.map { $0.split(separator: " ")[2] }
        for event in ["server.started", "server.data", "server.rules", "server.limits"] {
            #expect(events.filter { $0 == event }.count == 1, "\(event)")
        }
        let line = try #require(server.server.services.log.recentLines.first { $0.contains("server.started") })
        #expect(line.contains("version=\(Version.current) listen=\(server.server.address)"))
    }

    @Test("names requests that take long, if it is told how long that is")
    func slowRequests() throws {
        let server = try RealtimeTestServer {
            $0.slowRequest = .zero
            $0.logLevel = .warning
        }
        let rest = try server.connectREST()
        try rest.ask("PUT", "/a/b.json", [], "1")
        let peer = try server.connect("/.ws?v=5")
        _ = try peer.receiveMessage()
        try peer.send(1, "g", #"{"p":"/c"}"#)
        _ = try peer.receiveMessage()
        // A line is written in the turn that queues the answer, perhaps after the client has it.
        for words in ["operation=set path=/a/b milliseconds=", "operation=get path=/c "] {
            try blockUntil("the line with '\(words)'") {
                server.server.services.log.recentLines.contains { $0.contains("warning request.slow \(words)") }
            }
        }
    }

    @Test("audit events go to a file of their own, with writes of administrators, and to a new one after its renaming")
    func audit() throws {
        let audit = folder.path + "/audit.log"
        let server = try RealtimeTestServer {
            $0.auditFile = audit
            $0.logLevel = .info
        }
        let rest = try server.connectREST()
        try rest.ask("PUT", "/.settings/rules.json", RESTClient.owner, #"{"rules":{".read":true,".write":true}}"#)
        try rest.ask("PUT", "/a.json", RESTClient.owner, "1")
        try rest.ask("PUT", "/b.json", [], "1")
        try rest.ask("GET", "/b.json", RESTClient.owner)
        let events = try lines(audit).map { try #require(try JSONValue(parsing: Array($0.utf8)).object) }
        #expect(events.map { $0["event"]?.text } == ["admin.rules", "admin.data"])
        #expect(events.last?["path"]?.text == "/a")
        #expect(events.last?["did"]?.text == "set")
        #expect(events.last?["by"]?.text == "administrator")
        #expect(!server.server.services.log.recentLines.contains { $0.contains("admin.rules") })
        var status = stat()
        #expect(stat(audit, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)

        try #require(rename(audit, audit + ".1") == 0)
        try server.server.services.trail.reopen()
        try rest.ask("PUT", "/c.json", RESTClient.owner, "1")
        #expect(lines(audit).count == 1)
        #expect(lines(audit + ".1").count == 2)

        // A file that cannot be opened again stays in use.
        try #require(rename(audit, audit + ".2") == 0)
        try #require(mkdir(audit, 0o700) == 0)
        #expect(throws: SystemError.self) { try server.server.services.trail.reopen() }
        try rest.ask("PUT", "/d.json", RESTClient.owner, "1")
        #expect(lines(audit + ".2").count == 2)
    }

    @Test("an audit log that cannot be opened keeps the server from starting")
    func unwritableAudit() {
        let error = #expect(throws: Server.StartError.self) {
            _ = try RealtimeTestServer { $0.auditFile = "/nowhere/at/all/audit.log" }
        }
        #expect(error?.message == "open the audit log /nowhere/at/all/audit.log: No such file or directory")
    }
}
