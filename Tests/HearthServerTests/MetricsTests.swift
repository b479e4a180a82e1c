import HearthEventLoop
import HearthHTTPCodec
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthServer
@testable import HearthAdministration
@testable import HearthRealtimeSessions

@Suite("Metrics")
struct MetricsTests {
    /// A page taken apart by the rules of the text format.
    private struct Page {
        var types: [String: String] = [:]
        /// By name and labels.
        var samples: [String: String] = [:]

        init(_ text: String) throws {
            try #require(text.hasSuffix("\n"))
            try #require(!text.contains("\r"))
            var family = ""
            var helped = ""
            for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
                let words = line.split(separator: " ", maxSplits: 3).map(String.init)
                if words[0] == "#", words[1] == "HELP" {
                    helped = words[2]
                    #expect(words.count == 4, "\(line)")
                    #expect(words.last?.isEmpty == false, "\(line)")
                } else if words[0] == "#" {
                    family = words[2]
                    #expect(words[1] == "TYPE", "\(line)")
                    #expect(family == helped, "\(line)")
                    #expect(types.updateValue(words[3], forKey: family) == nil, "\(family) comes twice")
                } else {
                    let end = try #require(line.lastIndex(of: " "))
                    let (name, value) = (String(line[..<end]), String(line[line.index(after: end)...]))
                    let bare = String(name.prefix { $0 != "{" })
                    let suffixes = types[family] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
                    #expect(suffixes.contains { bare == family + $0 }, "\(name) is not of the family \(family)")
                    #expect(Double(value) != nil, "\(line)")
                    #expect(samples.updateValue(value, forKey: name) == nil, "\(name) comes twice")
                }
            }
        }

        func number(_ name: String) throws -> Double { try #require(samples[name].flatMap { Double($0) }, "\(name)") }
    }

    private static func page(_ server: RealtimeTestServer) throws -> Page {
        let answer = try server.connectREST().ask("GET", "/metrics", RESTClient.owner)
        #expect(answer.status == 200)
        #expect(answer.field("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        return try Page(answer.text)
    }

    @Test(
        "of the nodes of a cluster say who takes the writes, and that each has its lease",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func cluster() throws {
        let cluster = try TestCluster(forwardsWrites: true)
        for name in TestCluster.names {
            try cluster.wait("the write at \(name)") {
                (try? cluster[name].connectREST().ask("PUT", "/\(name).json", RESTClient.owner, "1").status) == 200
            }
            // On a busy machine a lease may end.
            try cluster.wait("the figures of \(name)") {
                let page = try Self.page(cluster[name])
                let isOwner = try cluster.recordedOwner() == name
                // Every node holds everything.
                return try page.number("hearth_cluster_lease") == 1
                    && page.number(#"hearth_database_owner{database="default"}"#) == (isOwner ? 1 : 0)
                    && page.number(#"hearth_cluster_members{state="member"}"#) == 0
                    && page.number(#"hearth_cluster_databases{state="held"}"#) == page.number("hearth_databases")
            }
        }
        let alone = try Self.page(try RealtimeTestServer())
        #expect(alone.samples["hearth_cluster_lease"] == nil)
        #expect(!alone.types.keys.contains { $0.hasPrefix("hearth_cluster_") })
    }

    @Test("count the listeners that came back with a position, and those of them that had to start over")
    func resumes() throws {
        let server = try RealtimeTestServer()
        #expect(try server.connectREST().ask("PUT", "/a.json", RESTClient.owner, "1").status == 200)
        let peer = try server.connect("/.ws?v=5")
        _ = try peer.receiveMessage()
        func listen(_ number: Int, _ path: String, since: String) throws -> String {
            try peer.send(number, "q", "{\"p\":\"\(path)\",\"since\":\"\(since)\"}")
            while true {
                let message = try #require(try peer.receiveMessage())
                if message.contains("\"r\":\(number),") { return message }
            }
        }
        let first = try listen(1, "/none", since: "")
        let position = try #require(first.firstMatch(of: /"pos":"(.{16}:1:.{8})"/)).1
        _ = try listen(2, "/a", since: String(position))
        _ = try listen(3, "/b", since: "0123456789abcdef:1")
        let page = try Self.page(server)
        #expect(try page.number(#"hearth_resumes_total{result="resumed"}"#) == 1)
        #expect(try page.number(#"hearth_resumes_total{result="anew"}"#) == 1)
    }

    @Test("tell who is connected, what was asked and how it ended")
    func traffic() throws {
        let rules = #"""
            {"rules":{"open":{".read":true,".write":true},"list":{".read":true,".write":true}}}
            """#
        let server = try RealtimeTestServer()
        let rest = try server.connectREST()
        #expect(try rest.ask("PUT", "/.settings/rules.json?ns=default", RESTClient.owner, rules).status == 200)
        #expect(try rest.ask("PUT", "/open.json", [], "1").status == 200)
        #expect(try rest.ask("PUT", "/closed.json", [], "1").status == 401)
        #expect(try rest.ask("PUT", "/open.json", ["If-Match: x"], "1").status == 412)
        #expect(try rest.ask("GET", "/open.json").text == "1")
        let peer = try server.connect("/.ws?v=5")
        _ = try peer.receiveMessage()
        try peer.send(1, "q", #"{"p":"/open"}"#)
        _ = try peer.receiveMessage()
        _ = try peer.receiveMessage()
        #expect(try rest.ask("PUT", "/open.json", [], "2").status == 200)
        _ = try peer.receiveMessage()
        let page = try Self.page(server)
        func requests(_ operation: String, _ code: String) throws -> Double {
            try page.number("hearth_requests_total{operation=\"\(operation)\",code=\"\(code)\"}")
        }
        #expect(try requests("set", "ok") == 2)
        #expect(try requests("set", "denied") == 1)
        #expect(try requests("transaction", "conflict") == 1)
        #expect(try requests("get", "ok") == 1)
        #expect(try requests("listen", "ok") == 1)
        #expect(try requests("update", "ok") == 0)
        #expect(try page.number(#"hearth_request_duration_seconds_count{operation="set"}"#) == 3)
        #expect(try page.number(#"hearth_request_duration_seconds_count{operation="listen"}"#) == 1)
        #expect(try page.number(#"hearth_connections{transport="websocket"}"#) == 1)
        #expect(try page.number(#"hearth_connections{transport="http"}"#) == 2)
        #expect(try page.number(#"hearth_connections_opened_total{transport="websocket"}"#) == 1)
        #expect(try page.number("hearth_pushes_total") == 1)
        #expect(try page.number("hearth_commit_duration_seconds_count") >= 2)
        #expect(try page.number("hearth_received_bytes_total") > 100)
        #expect(try page.number("hearth_sent_bytes_total") > 100)
        #expect(try page.number(#"hearth_database_listeners{database="default"}"#) == 1)
        #expect(try page.number(#"hearth_database_durable_sequence{database="default"}"#) == 2)
        #expect(try page.number(#"hearth_database_file_bytes{database="default"}"#) > 0)
        #expect(try page.number(#"hearth_account_events_total{event="admin.rules"}"#) == 1)
        #expect(try page.number(#"hearth_memory_bytes{budget="kept"}"#) == 0)
        #expect(try page.number(#"hearth_memory_limit_bytes{budget="kept"}"#) > 0)
        #expect(try page.number("hearth_ready") == 1)
        #expect(try page.number("process_open_fds") > 5)
        #expect(try page.number("process_resident_memory_bytes") > 1_000_000)
        #expect(
            page.samples["hearth_build_info{version=\"\(Version.current)\",sqlite=\"\(DataFolder.engineVersion)\"}"]
                == "1")
    }

    @Test("listeners of a database without files count for the memory that is kept, too")
    func keptMemory() throws {
        let server = try RealtimeTestServer()
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        let key = String(repeating: "k", count: 700)
        for number in 1...100 {
            try peer.send(number, "q", #"{"p":"/\#(key)/\#(number)","h":""}"#)
            #expect(try peer.receiveMessage()?.contains(#""r":\#(number),"b":{"s":"ok""#) == true)
        }
        // One that writes makes its files.
        for number in 101...102 {
            let page = try Self.page(server)
            #expect(try page.number(#"hearth_memory_bytes{budget="kept"}"#) > 50_000)
            try peer.send(number, "p", #"{"p":"/x","d":1}"#)
            #expect(try peer.receiveMessage() == RealtimePeer.response(number))
        }
    }

    @Test("event streams, ended connections and unindexed queries are counted")
    func streams() throws {
        let server = try RealtimeTestServer()
        let stream = try EventStreamClient("/.json", of: server)
        _ = try stream.next()
        var page = try Self.page(server)
        #expect(try page.number(#"hearth_connections{transport="event_stream"}"#) == 1)
        stream.connection.hangUp()
        let rest = try server.connectREST()
        try rest.ask("PUT", "/list.json", [], #"{"a":{"n":1},"b":{"n":2}}"#)
        let peer = try server.connect("/.ws?v=5")
        _ = try peer.receiveMessage()
        try peer.send(1, "g", #"{"p":"/list","q":{"i":"n","sp":2}}"#)
        _ = try peer.receiveMessage()
        repeat {
            page = try Self.page(server)
        } while try page.number(
            #"hearth_connections{transport="event_stream"}"#) > 0
        #expect(try page.number(#"hearth_connections_opened_total{transport="event_stream"}"#) == 1)
        #expect(try page.number("hearth_unindexed_queries_total") == 1)
        #expect(try page.number(#"hearth_requests_total{operation="query",code="ok"}"#) == 1)
        let closed = LoopMetrics.End.allCases.map { "hearth_connections_closed_total{reason=\"\($0.name)\"}" }
        #expect(try closed.reduce(0) { try $0 + page.number($1) } >= 1)
    }

    @Test("need an administrator's credential, except on a listener of their own, which answers nothing else")
    func access() throws {
        let folder = TemporaryFolder()
        let rules = folder.path + "/rules.json"
        TemporaryFolder.write(Array(#"{"rules":{".read":true}}"#.utf8), to: rules)
        let server = try RealtimeTestServer {
            $0.isDevelopment = false
            $0.rulesFile = rules
            $0.adminAddress = .loopback(port: 0)
            $0.metricsAddress = .loopback(port: 0)
        }
        #expect(try server.connectREST().ask("GET", "/metrics", RESTClient.owner).status == 404)
        #expect(try server.connectAdminREST().ask("GET", "/metrics").status == 401)
        let port = try #require(server.server.metricsAddress).port
        let metrics = try RESTClient(port: port, of: server)
        #expect(try metrics.ask("GET", "/metrics").status == 200)
        #expect(try metrics.ask("HEAD", "/metrics").status == 200)
        #expect(try metrics.ask("POST", "/metrics", [], "").status == 405)
        #expect(try metrics.ask("GET", "/healthz").status == 200)
        #expect(try metrics.ask("GET", "/readyz").status == 200)
        for place in ["/.json", "/.settings/rules.json", "/.inspect/databases.json", "/.lp?start=t", "/.ws"] {
            #expect(try metrics.ask("GET", place).status == 404, "\(place)")
        }
        try metrics.send(RealtimePeer.request(host: "localhost", target: "/.ws?v=5"))
        #expect(try metrics.receive().status == 404)
    }

    @Test("of many databases, those beyond the limit are summed up")
    func manyDatabases() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let rest = try server.connectREST()
        for number in 1...(MetricsPage.databasesMax + 2) {
            try rest.ask("PUT", "/.json?ns=d\(number)", RESTClient.owner, "1")
        }
        let page = try Self.page(server)
        #expect(try page.number("hearth_databases") == Double(MetricsPage.databasesMax + 2))
        #expect(try page.number(#"hearth_database_sequence{database="d1"}"#) == 1)
        #expect(try page.number(#"hearth_database_sequence{database="(others)"}"#) == 2)
        let count = page.samples.keys.count { $0.hasPrefix("hearth_database_sequence{") }
        #expect(count == MetricsPage.databasesMax + 1)
    }

    @Test("are all explained, and alert rules and the dashboard use no others")
    func documents() throws {
        let server = try RealtimeTestServer()
        let rest = try server.connectREST()
        let trigger = #"{".trigger":{"name":"t","on":"written","url":"https://a.example/"}}"#
        let settings = #"{"settings":{"mail":{".queue":{}},"t":\#(trigger)}}"#
        try #require(rest.ask("PUT", "/.settings/settings.json", RESTClient.owner, settings).status == 200)
        try #require(rest.ask("PUT", "/a.json", RESTClient.owner, "1").status == 200)
        var page: Page
        // The thread of the triggers tells of them when it has got ready.
        repeat { page = try Self.page(server) } while page.types["hearth_trigger_receiver_down"] == nil
        let names = Set(page.types.keys)
        let guide = try Self.repositoryText("docs/operating/monitoring.md")
        // Present with TLS, after a backup, with accounts that send mails, or in a cluster, only.
        let conditional: Set = [
            "hearth_tls_certificate_expiry_timestamp_seconds", "hearth_backup_last_success_timestamp_seconds",
            "hearth_archive_last_success_timestamp_seconds", "hearth_archive_failures_total",
            "hearth_archive_accounts_last_success_timestamp_seconds", "hearth_archive_gaps_total", "hearth_mails_total",
            "hearth_backup_last_size_bytes", "hearth_backup_last_duration_seconds", "hearth_cluster_lease",
            "hearth_cluster_etcd_lease",
            "hearth_database_owner", "hearth_cluster_members", "hearth_cluster_databases",
            "hearth_cluster_waiting_requests", "hearth_cluster_databases_removed_total",
        ]
        let explained = Self.names(in: guide)
        #expect(names.subtracting(explained) == [])
        #expect(explained.subtracting(names).subtracting(conditional) == [])
        for file in ["alerts.yml", "alerts.test.yml", "dashboard.json"] {
            let used = Self.names(in: try Self.repositoryText("deploy/monitoring/" + file))
            #expect(used.count > 3, "\(file)")
            #expect(used.subtracting(names).subtracting(conditional) == [], "\(file)")
        }
    }

    /// Names of metrics, without what histograms add to them.
    private static func names(in text: String) -> Set<String> {
        let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") }
        return Set(
            words.filter { $0.hasPrefix("hearth_") || $0.hasPrefix("process_") }.map { word in
                for suffix in ["_bucket", "_sum", "_count"] where word.hasSuffix(suffix) {
                    return String(word.dropLast(suffix.count))
                }
                return String(word)
            })
    }

    private static func repositoryText(_ path: String, file: String = #filePath) throws -> String {
        let root = file.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        return String(decoding: try #require(FileBytes.read("\(root)/\(path)"), "\(path)"), as: UTF8.self)
    }
}
