import HearthDatabaseHost
import HearthEventLoop
import HearthBytes
import Glibc
import HearthServer
import HearthJSONValues
import HearthIdentity
import HearthJSONTree
import HearthServerLog
import HearthSystem
import HearthTestSupport
import HearthTriggers
import Testing
import HearthAccountEndpoints
import HearthBackups
import HearthRealtimeSessions

@Suite("Messages of administrators, answered")
struct AdministrationTests {
    private static let rules = """
        {"rules": {"mine": {"$uid": {".read": "$uid === auth.uid", ".write": "$uid === auth.uid"}},
          "list": {".read": "query.orderByChild == 'n'"}}}
        """

    /// A realtime connection of an administrator, after the hello.
    private final class Desk {
        let peer: RealtimePeer
        private var number = 0
        /// Pushes that came meanwhile.
        var pushes: [JSONObject] = []

        init(_ server: RealtimeTestServer, isAdministrator: Bool = true, target: String = "/.ws?v=5&ns=example") throws
        {
            peer = try server.connect(target)
            _ = try peer.receiveMessage()
            if isAdministrator { _ = try ask("auth", #"{"cred":"owner"}"#) }
        }

        /// The body of the answer.
        @discardableResult
        func ask(_ action: String, _ body: String) throws -> (status: String, data: JSONValue) {
            number += 1
            try peer.send(number, action, body)
            while true {
                let message = try receive()
                guard message["r"]?.integer == Int64(number) else {
                    pushes.append(message)
                    continue
                }
                let body = try #require(message["b"]?.object)
                return (try #require(body["s"]?.text), body["d"] ?? .null)
            }
        }

        /// The contents of the next message.
        func receive() throws -> JSONObject {
            let text = try #require(try peer.receiveMessage())
            return try #require(try JSONValue(parsing: Array(text.utf8)).object?["d"]?.object)
        }

        func admin(_ body: String) throws -> JSONObject {
            let (status, data) = try ask("admin", body)
            try #require(status == "ok", "\(body): \(String(decoding: data.bytes, as: UTF8.self))")
            return try #require(data.object)
        }
    }

    private static func text(_ value: JSONValue?) -> String {
        value.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "nothing"
    }

    private static func text(_ object: JSONObject) -> String { String(decoding: object.bytes, as: UTF8.self) }

    @Test("nobody but an administrator is answered, and nobody at all on the public listener")
    func refused() throws {
        let server = try RealtimeTestServer { $0.adminAddress = .loopback(port: 0) }
        let commands = [
            #"{"c":"sessions"}"#, #"{"c":"kick","id":"0.1"}"#, #"{"c":"stats"}"#, #"{"c":"recent"}"#,
            #"{"c":"databases"}"#,
            #"{"c":"profile","on":true}"#, #"{"c":"children","p":"/"}"#, #"{"c":"count","p":"/"}"#,
            #"{"c":"history","p":"/"}"#, #"{"c":"log"}"#, #"{"c":"backup"}"#, #"{"c":"backups"}"#,
            #"{"c":"check-backup","file":"x"}"#, #"{"c":"read-backup","file":"x"}"#, #"{"c":"tail","on":true}"#,
            #"{"c":"renew"}"#, #"{"c":"server"}"#,
            #"{"c":"rest","m":"GET","u":"/.settings/rules.json"}"#,
        ]
        let atPublic = try Desk(server)
        let nobody = try Desk(server, isAdministrator: false)
        for command in commands {
            #expect(try atPublic.ask("admin", command).status == "permission_denied")
            #expect(try nobody.ask("admin", command).status == "permission_denied")
        }
        let shared = try RealtimeTestServer()
        let user = try Desk(shared, isAdministrator: false)
        let acting = try Desk(shared)
        _ = try acting.ask("gauth", #"{"cred":"owner","authvar":{"uid":"a"}}"#)
        for command in commands {
            #expect(try user.ask("admin", command).status == "permission_denied")
            #expect(try acting.ask("admin", command).status == "permission_denied")
        }
    }

    @Test("a node is shown by its children in pages, and counted")
    func children() throws {
        let server = try RealtimeTestServer()
        let desk = try Desk(server)
        #expect(try Self.text(desk.ask("admin", #"{"c":"children","p":"x"}"#).data) == #"{"t":"null","v":null}"#)
        let long = String(repeating: "é", count: 200)
        let children = (10..<40).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        try desk.ask(
            "p",
            #"{"p":"a","d":{"1":true,"deep":{"x":{"y":1}},"list":{\#(children)},"long":"\#(long)",".priority":3}}"#)
        #expect(
            try Self.text(desk.admin(#"{"c":"children","p":"a","n":2}"#))
                == #"{"t":"object","pri":3,"c":[{"t":"boolean","v":true,"k":"1"},"#
                + #"{"t":"object","v":{"x":{"y":1}},"k":"deep"}],"next":"deep"}"#)
        #expect(
            try Self.text(desk.admin(#"{"c":"children","p":"a","k":"deep"}"#))
                == #"{"t":"object","pri":3,"c":[{"t":"object","b":271,"n":30,"k":"list"},"#
                + #"{"t":"string","b":402,"s":"\#(String(repeating: "é", count: 100))","k":"long"}]}"#)
        #expect(try Self.text(desk.admin(#"{"c":"children","p":"a/1"}"#)) == #"{"t":"boolean","v":true}"#)
        #expect(
            try Self.text(desk.admin(#"{"c":"count","p":"a/list","n":20}"#)) == #"{"t":"object","n":20,"next":"k29"}"#)
        #expect(try Self.text(desk.admin(#"{"c":"count","p":"a/list","k":"k29"}"#)) == #"{"t":"object","n":10}"#)
    }

    @Test("a node that is spread over many rows is shown without being read")
    func largeNode() throws {
        let server = try RealtimeTestServer()
        let desk = try Desk(server)
        let value = String(repeating: "v", count: 3000)
        for index in 0..<40 { try desk.ask("p", #"{"p":"big/k\#(100 + index)/v","d":"\#(value)"}"#) }
        let top = try #require(try desk.admin(#"{"c":"children","p":""}"#)["c"]?.array?.first)
        #expect(Self.text(top) == #"{"t":"object","k":"big"}"#)
        var after = ""
        var keys: [String] = []
        repeat {
            let page = try desk.admin(#"{"c":"children","p":"big","n":7\#(after)}"#)
            keys += page["c"]?.array?.compactMap { $0.object?["k"]?.text } ?? []
            after = page["next"]?.text.map { #","k":"\#($0)""# } ?? ""
        } while !after.isEmpty
        #expect(keys == (0..<40).map { "k\(100 + $0)" })
    }

    @Test("children as somebody sees them, by the rules")
    func actingChildren() throws {
        let folder = TemporaryFolder()
        TemporaryFolder.write(Array(Self.rules.utf8), to: folder.path + "/rules.json")
        let server = try RealtimeTestServer { $0.rulesFile = folder.path + "/rules.json" }
        let desk = try Desk(server)
        try desk.ask("p", #"{"p":"mine/a","d":{"x":1}}"#)
        let page = #""c":"children","p":"mine/a""#
        #expect(try desk.admin("{\(page)}")["c"]?.array?.count == 1)
        #expect(try desk.admin(#"{\#(page),"as":{"uid":"a"}}"#)["c"]?.array?.count == 1)
        #expect(try desk.ask("admin", #"{\#(page),"as":{"uid":"b"}}"#).status == "permission_denied")
        #expect(try desk.ask("admin", #"{\#(page),"as":null}"#).status == "permission_denied")
        #expect(try desk.ask("admin", #"{\#(page),"as":7}"#).status == "invalid_argument")
    }

    @Test("who is connected, from where, as whom, to what, until an administrator ends it")
    func sessions() throws {
        let server = try RealtimeTestServer()
        let desk = try Desk(server)
        let user = try Desk(server, isAdministrator: false)
        _ = try user.ask("gauth", #"{"cred":"owner","authvar":{"uid":"ann"}}"#)
        try user.ask("q", #"{"p":"rooms/a","h":""}"#)
        try user.ask("q", #"{"p":"rooms","q":{"l":2},"t":1,"h":""}"#)
        let stream = try EventStreamClient("/feed.json?ns=example", of: server)
        _ = try stream.nextLine()
        let list = try desk.admin(#"{"c":"sessions"}"#)
        #expect(list["count"]?.integer == 3)
        let sessions = try #require(list["sessions"]?.array?.compactMap { $0.object })
        let beginnings = sessions.compactMap { $0["since"]?.integer }
        #expect(beginnings.count == 3 && beginnings == beginnings.sorted())
        // Several may begin in one millisecond.
        let kinds = sessions.map { "\($0["uid"]?.text ?? "nobody"), \($0["transport"]?.text ?? "")" }
        #expect(kinds.sorted() == ["administrator, websocket", "ann, websocket", "nobody, event stream"])
        let ann = try #require(sessions.first { $0["uid"]?.text == "ann" })
        #expect(Self.text(ann["at"]) == #"[{"path":"/rooms","query":{"l":2}},{"path":"/rooms/a"}]"#)
        #expect(ann["database"]?.text == "example")
        #expect(ann["from"]?.text?.hasPrefix("127.0.0.1:") == true)
        #expect(try desk.admin(#"{"c":"sessions","n":1}"#)["sessions"]?.array?.count == 1)
        let others = sessions.filter { $0["uid"]?.text != "administrator" }
        for id in others.compactMap({ $0["id"]?.text }) {
            #expect(try Self.text(desk.admin(#"{"c":"kick","id":"\#(id)"}"#)) == #"{"ended":true}"#)
            #expect(try desk.ask("admin", #"{"c":"kick","id":"\#(id)"}"#).status == "error")
        }
        #expect(try user.peer.receive() == .close(1008, reason: "an administrator has ended the connection"))
        #expect(try stream.nextLine() == "cancel null")
        #expect(try desk.ask("admin", #"{"c":"kick","id":"x"}"#).status == "invalid_argument")
    }

    @Test("figures, databases, the log, and a backup in the data folder")
    func server() throws {
        let server = try RealtimeTestServer { $0.logLevel = .info }
        let desk = try Desk(server)
        try desk.ask("p", #"{"p":"a","d":1}"#)
        let figures = try desk.admin(#"{"c":"stats"}"#)
        #expect(figures["sessions"]?.integer == 1)
        #expect((figures["memory"]?.integer ?? 0) > 1 << 20)
        let commits = try #require(figures["commits"]?.object)
        #expect(commits["counts"]?.array?.count == (commits["bounds"]?.array?.count ?? 0) + 1)
        #expect(commits["counts"]?.array?.compactMap(\.integer).reduce(0, +) == 1)
        #expect(figures["pushes"]?.integer == 0)
        let database = try #require(figures["databases"]?.array?.first?.object)
        #expect(database["name"]?.text == "example")
        #expect(database["sequence"]?.integer == 1)
        // The first sample is taken while the server starts, on other threads.
        var recent = try desk.admin(#"{"c":"recent"}"#)
        while recent["samples"]?.array?.isEmpty != false { recent = try desk.admin(#"{"c":"recent"}"#) }
        let sample = try #require(recent["samples"]?.array?.first?.object)
        #expect((sample["memory"]?.integer ?? 0) > 1 << 20)
        #expect(sample["operations"]?.integer == 0)
        #expect(sample["commits"]?.array?.count == (recent["bounds"]?.array?.count ?? 0) + 1)
        let names = try desk.admin(#"{"c":"databases"}"#)["databases"]?.array?.compactMap { $0.object?["name"]?.text }
        #expect(names == ["default", "example"])
        #expect(Self.text(try desk.admin(#"{"c":"log","n":50}"#)["lines"]).contains("database.open"))
        let backup = try desk.admin(#"{"c":"backup"}"#)
        let file = try #require(backup["file"]?.text)
        #expect(backup["sequence"]?.integer == 1)
        #expect(access(file, F_OK) == 0)
        // The copy is in the list, is whole, and can be had piece by piece.
        let name = try #require(file.split(separator: "/").last.map { String($0) })
        let listed = try #require(try desk.admin(#"{"c":"backups"}"#)["backups"]?.array?.first?.object)
        #expect(listed["file"]?.text == name)
        #expect(listed["bytes"]?.integer == backup["bytes"]?.integer)
        let checked = try desk.admin(#"{"c":"check-backup","file":"\#(name)"}"#)
        #expect(checked["database"]?.text == "example")
        #expect(checked["sequence"]?.integer == 1)
        var copy: [UInt8] = []
        while true {
            let part = try desk.admin(#"{"c":"read-backup","file":"\#(name)","at":\#(copy.count),"n":5000}"#)
            let bytes = try #require(Base64.standard.decode(part["data"]?.utf8 ?? []))
            if bytes.isEmpty { break }
            #expect(bytes.count <= 5000)
            copy += bytes
        }
        #expect(copy == FileBytes.read(file))
        for other in ["../lock", "\(name)x", ""] {
            #expect(try desk.ask("admin", #"{"c":"read-backup","file":"\#(other)"}"#).status == "invalid_argument")
            #expect(try desk.ask("admin", #"{"c":"check-backup","file":"\#(other)"}"#).status == "invalid_argument")
        }
        let description = try desk.admin(#"{"c":"server"}"#)
        #expect(description["mode"]?.text == "development")
        #expect(description["options"]?.object?["durability"]?.text == "full")
        unlink(file)
        rmdir(file.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" })
    }

    @Test("the options in force, by the names that they have on the command line")
    func options() throws {
        let archive = TemporaryFolder()
        let server = try RealtimeTestServer {
            $0.metricsAddress = .loopback(port: 0)
            $0.trustedProxies = TrustedProxies("10.0.0.0/8, 127.0.0.1") ?? TrustedProxies()
            $0.databaseNames.names = ["b", "a"]
            $0.slowRequest = .milliseconds(250)
            $0.drainTime = .seconds(10)
            $0.loops = 1
            $0.project = "shop"
            var identity = IdentityConfiguration()
            identity.options.tenants = ["t2", "t1"]
            identity.apiKeys = ["k"]
            var relay = SMTPSettings(host: "relay.test", port: 465, sender: "a@relay.test")
            relay.usesTLS = true
            relay.credentials = .init(user: "u", password: "secret word")
            identity.delivery = .relay(relay)
            $0.identity = identity
            $0.archive = ArchiveConfiguration(folder: archive.path)
            $0.triggers.networks = NetworkList("10.0.0.0/8") ?? NetworkList()
            $0.triggers.commandFolder = archive.path
            $0.triggers.authorities = .file("ca.pem")
        }
        let desk = try Desk(server)
        let options = try #require(try desk.admin(#"{"c":"server"}"#)["options"]?.object)
        #expect(options["metrics-listen"]?.text == "127.0.0.1:0")
        #expect(options["trusted-proxy"]?.text == "10.0.0.0/8, 127.0.0.1")
        #expect(options["databases"]?.text == "a,b")
        #expect(options["slow-ms"]?.integer == 250)
        #expect(options["drain-seconds"]?.integer == 10)
        #expect(options["archive"]?.text == archive.path)
        #expect(options["archive-seconds"]?.integer == 10)
        #expect(options["archive-days"]?.integer == 7)
        #expect(options["free-mib-min"]?.integer == 64)
        #expect(options["trigger-networks"]?.text == "10.0.0.0/8")
        #expect(options["trigger-ca"]?.text == "ca.pem")
        #expect(options["trigger-commands"]?.text == archive.path)
        #expect(options["log-level"]?.text == "error")
        #expect(options["log-format"]?.text == "text")
        #expect(options["audit-log"] == nil)
        #expect(options["cluster"] == nil)
        #expect(options["loops"]?.integer == 1)
        #expect(options["project"]?.text == "shop")
        #expect(options["tenants"]?.text == "t1,t2")
        #expect(options["api-keys"]?.text == "k")
        #expect(options["smtp"]?.text == "smtps://relay.test:465")
        #expect(options["smtp-user"]?.text == "u")
        #expect(options["smtp-password-file"]?.text == "set")
        #expect(!Self.text(options).contains("secret"))
    }

    @Test("what was committed at a place and around it, backwards in pages")
    func history() throws {
        let server = try RealtimeTestServer()
        let desk = try Desk(server)
        #expect(try Self.text(desk.admin(#"{"c":"history","p":"/"}"#)) == #"{"entries":[]}"#)
        let user = try Desk(server)
        _ = try user.ask("gauth", #"{"cred":"owner","authvar":{"uid":"ann"}}"#)
        try desk.ask("p", #"{"p":"a","d":{"x":1,"y":2}}"#)
        try desk.ask("p", #"{"p":"b","d":3}"#)
        try user.ask("m", #"{"p":"a","d":{"x":5,"y/.priority":1}}"#)
        try desk.ask("p", #"{"p":"a/x/deep","d":"\#(String(repeating: "v", count: 2000))"}"#)
        func entries(_ body: String) throws -> [String] {
            try desk.admin(body)["entries"]?.array?.compactMap { entry in
                entry.object.map { "\($0["seq"]?.integer ?? 0) \($0["uid"]?.text ?? "-") \(Self.text($0["changes"]))" }
            } ?? []
        }
        #expect(
            try entries(#"{"c":"history","p":"a/x"}"#) == [
                #"4 - [{"path":"/a/x/deep","bytes":2002}]"#, #"3 ann [{"path":"/a/x","value":5}]"#,
                #"1 - [{"path":"/a/x","value":1}]"#,
            ])
        #expect(try entries(#"{"c":"history","p":"b"}"#) == [#"2 - [{"path":"/b","value":3}]"#])
        let page = try desk.admin(#"{"c":"history","p":"","n":3}"#)
        #expect(page["entries"]?.array?.count == 3)
        #expect(page["before"]?.integer == 2)
        let rest = try desk.admin(#"{"c":"history","p":"","n":3,"before":2}"#)
        #expect(rest["entries"]?.array?.count == 1)
        #expect(rest["before"] == nil)
    }

    @Test("requests to the database as they arrive, for watchers")
    func profile() throws {
        let server = try RealtimeTestServer()
        let (desk, user) = (try Desk(server), try Desk(server))
        _ = try user.ask("gauth", #"{"cred":"owner","authvar":{"uid":"ann"}}"#)
        _ = try desk.admin(#"{"c":"stats"}"#)
        #expect(try desk.ask("admin", #"{"c":"profile","on":true}"#).status == "ok")
        for value in 0..<3 { try user.ask("p", #"{"p":"a","d":\#(value)}"#) }
        try user.ask("q", #"{"p":"b","q":{"i":"n","l":2},"t":1,"h":""}"#)
        var counts: [String: Int64] = [:]
        var unindexed: [String] = []
        while counts.count < 2 || counts["set /a ann"] != 3 {
            let push = try desk.pushes.isEmpty ? desk.receive() : desk.pushes.removeFirst()
            try #require(push["a"]?.text == "prof")
            for line in push["b"]?.object?["d"]?.array ?? [] {
                let line = try #require(line.object)
                let name = "\(line["op"]?.text ?? "") \(line["path"]?.text ?? "") \(line["uid"]?.text ?? "")"
                if line["unindexed"] != nil { unindexed.append(name) }
                counts[name, default: 0] += line["count"]?.integer ?? 0
            }
        }
        #expect(counts == ["set /a ann": 3, "listen query /b ann": 1])
        #expect(unindexed == ["listen query /b ann"])
        // A client that has stopped hears no more, although others continue.
        #expect(try desk.ask("admin", #"{"c":"profile","on":false}"#).status == "ok")
        desk.pushes = []
        try user.ask("p", #"{"p":"a","d":9}"#)
        let other = try Desk(server)
        try other.ask("admin", #"{"c":"profile","on":true}"#)
        try user.ask("p", #"{"p":"c","d":9}"#)
        #expect(try other.receive()["a"]?.text == "prof")
        #expect(try desk.admin(#"{"c":"stats"}"#)["sessions"]?.integer == 3)
        #expect(desk.pushes.isEmpty)
    }

    @Test("commits, once they are durable, for watchers")
    func tail() throws {
        let server = try RealtimeTestServer()
        let (desk, user) = (try Desk(server), try Desk(server))
        _ = try user.ask("gauth", #"{"cred":"owner","authvar":{"uid":"ann"}}"#)
        // The first write makes the database.
        #expect(try desk.ask("admin", #"{"c":"tail","on":true}"#).status == "ok")
        let long = String(repeating: "v", count: 2000)
        try user.ask("p", #"{"p":"a","d":1}"#)
        try user.ask("m", #"{"p":"/","d":{"b/c":"\#(long)","a":null}}"#)
        try desk.ask("p", #"{"p":"a/.priority","d":null}"#)
        try desk.ask("p", #"{"p":"d","d":true}"#)
        var told: [String] = []
        while told.count < 3 {
            let push = try desk.pushes.isEmpty ? desk.receive() : desk.pushes.removeFirst()
            try #require(push["a"]?.text == "tail")
            for entry in push["b"]?.object?["d"]?.object?["entries"]?.array ?? [] {
                let entry = try #require(entry.object)
                told.append("\(entry["uid"]?.text ?? "-") \(Self.text(entry["changes"]))")
            }
        }
        #expect(
            told == [
                #"ann [{"path":"/a","value":1}]"#,
                #"ann [{"path":"/b/c","bytes":2002},{"path":"/a","value":null}]"#,
                #"- [{"path":"/d","value":true}]"#,
            ])
        // A turn that is too large to be told is counted.
        let large = String(repeating: "x", count: 1 << 20)
        try user.ask("p", #"{"p":"large","d":"\#(large)\#(large)"}"#)
        let push = try desk.pushes.isEmpty ? desk.receive() : desk.pushes.removeFirst()
        #expect(Self.text(push["b"]?.object?["d"]) == #"{"entries":[],"others":1}"#)
        // A client that has stopped, or acts as another user, hears no more.
        #expect(try desk.ask("admin", #"{"c":"tail","on":false}"#).status == "ok")
        let other = try Desk(server)
        try other.ask("admin", #"{"c":"tail","on":true}"#)
        try user.ask("p", #"{"p":"c","d":9}"#)
        #expect(try other.receive()["a"]?.text == "tail")
        #expect(try desk.admin(#"{"c":"stats"}"#)["sessions"]?.integer == 3)
        #expect(desk.pushes.isEmpty)
        _ = try other.ask("gauth", #"{"cred":"owner","authvar":{"uid":"ann"}}"#)
        try user.ask("p", #"{"p":"c","d":10}"#)
        #expect(try other.ask("g", #"{"p":"c","q":{}}"#).status == "ok")
        #expect(other.pushes.isEmpty)
    }

    @Test("a profile tells what a scan and a large read cost, though neither is done in one turn")
    func profileOfLongWork() throws {
        let server = try RealtimeTestServer()
        let (desk, user) = (try Desk(server), try Desk(server))
        let text = String(repeating: "x", count: 90)
        let children = (0..<20_000).map { #""k\#($0)":{"n":\#($0),"t":"\#(text)"}"# }.joined(separator: ",")
        try server.connectREST().ask("PUT", "/wide.json?ns=example&print=silent", RESTClient.owner, "{\(children)}")
        #expect(try desk.ask("admin", #"{"c":"profile","on":true}"#).status == "ok")
        try user.ask("g", #"{"p":"wide","q":{"i":"n","l":2}}"#)
        let value = try server.connectREST().ask("GET", "/wide.json?ns=example", RESTClient.owner)
        var lines: [String: JSONObject] = [:]
        while lines.count < 2 {
            let push = try desk.pushes.isEmpty ? desk.receive() : desk.pushes.removeFirst()
            for line in push["b"]?.object?["d"]?.array?.compactMap(\.object) ?? [] {
                lines[line["op"]?.text ?? ""] = line
            }
        }
        let query = try #require(lines["query"])
        #expect(query["unindexed"]?.integer == 1, "\(query)")
        #expect(query["us"]?.integer ?? 0 > 1000, "\(query)")
        let read = try #require(lines["get"])
        #expect(read["bytes"]?.integer ?? 0 >= value.body.count, "\(read)")
        #expect(read["wait"] != nil, "\(read)")
    }

    @Test(
        "a former administrator no longer hears of requests",
        arguments: [
            ("unauth", "{}"), ("gauth", #"{"cred":"owner","authvar":{"uid":"ann"}}"#), ("auth", #"{"cred":"x"}"#),
        ])
    func profileOfAnother(action: String, body: String) throws {
        let server = try RealtimeTestServer()
        let (desk, other, user) = (try Desk(server), try Desk(server), try Desk(server))
        for watcher in [desk, other] { #expect(try watcher.ask("admin", #"{"c":"profile","on":true}"#).status == "ok") }
        _ = try desk.ask(action, body)
        desk.pushes = []
        try user.ask("p", #"{"p":"a","d":1}"#)
        // Both would be told at once.
        #expect(try other.receive()["a"]?.text == "prof")
        _ = try desk.ask("s", #"{"c":{}}"#)
        #expect(desk.pushes.isEmpty)
    }

    @Test("the places that administrators have over HTTP, with their status and body")
    func rest() throws {
        let folder = TemporaryFolder()
        TemporaryFolder.write(Array(Self.rules.utf8), to: folder.path + "/rules.json")
        let server = try RealtimeTestServer {
            $0.rulesFile = folder.path + "/rules.json"
            $0.identity = IdentityConfiguration()
        }
        let desk = try Desk(server)
        func call(_ method: String, _ target: String, _ body: String? = nil) throws -> JSONObject {
            let text = body.map {
                #","d":\#(String(decoding: CanonicalJSON(string: Array($0.utf8)).bytes, as: UTF8.self))"#
            }
            return try desk.admin(#"{"c":"rest","m":"\#(method)","u":"\#(target)"\#(text ?? "")}"#)
        }
        #expect(try call("GET", "/.settings/rules.json")["body"]?.object?["rules"] != nil)
        #expect(try call("GET", "/.settings/rules/.json")["body"]?.object?["rules"] != nil)
        let open = #"{"rules":{".read":true}} // own"#
        #expect(try call("PUT", "/.settings/rules.json", #"{"rules":7}"#)["status"]?.integer == 400)
        #expect(try Self.text(call("PUT", "/.settings/rules.json", open)) == #"{"status":200,"body":{"status":"ok"}}"#)
        // It has a comment, so it is not JSON.
        #expect(try call("GET", "/.settings/rules.json")["body"]?.text == open)
        #expect(try call("GET", "/.settings/denials.json")["body"]?.array?.isEmpty == true)
        let made = try call("POST", "/v1/projects/hearth/accounts", #"{"email":"ann@example.com"}"#)
        #expect(made["status"]?.integer == 200)
        #expect(made["body"]?.object?["email"]?.text == "ann@example.com")
        let why = try call("POST", "/.settings/explain.json", #"{"operation":"write","path":"/a","value":1}"#)
        #expect(why["status"]?.integer == 200)
        #expect(why["body"]?.object?["allowed"]?.bool == false)
        #expect(try call("POST", "/.settings/explain.json", "{}")["status"]?.integer == 400)
        let auth = try call("POST", "/v1/projects/hearth/accounts:ruleAuth", #"{"email":"ann@example.com"}"#)
        let claims = auth["body"]?.object?["auth"]?.object
        #expect(claims?["provider"]?.text == "anonymous")
        #expect(claims?["token"]?.object?["email_verified"]?.bool == false)
        // A link leads to where the administrator has found the server.
        let mail = #"{"requestType":"PASSWORD_RESET","email":"ann@example.com","returnOobLink":true}"#
        let link = try call("POST", "/v1/projects/hearth/accounts:sendOobCode", mail)["body"]?.object?["oobLink"]?.text
        #expect(link?.hasPrefix("http://\(server.host)/") == true, "\(link ?? "none")")
        let long = #"{"displayName":"\#(String(repeating: "x", count: 300_000))"}"#
        #expect(try call("POST", "/v1/projects/hearth/accounts", long)["status"]?.integer == 413)
        for (method, target) in [
            ("GET", "/a.json"), ("POST", "/v1/accounts:signUp?key=x"), ("GET", "/healthz"), ("GET", "/.ws"),
        ] {
            #expect(try call(method, target)["status"]?.integer == 404, "\(target)")
        }
        #expect(try desk.ask("admin", #"{"c":"rest","m":"GET","u":"/ x"}"#).status == "invalid_argument")
        #expect(try desk.ask("admin", #"{"c":"rest","m":"GET","u":"x"}"#).status == "invalid_argument")
    }
}
