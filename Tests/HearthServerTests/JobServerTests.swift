import HearthClusterNode
import HearthServer
import HearthTestSupport
import Testing

@Suite("Jobs over the wire", .timeLimit(.minutes(15)))
struct JobServerTests {
    private static let settings = #"{"settings":{"mail":{".queue":{"attempts":2,"at":"at"}}}}"#

    private static func server() throws -> RealtimeTestServer {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        for name in ["", "?ns=example"] {
            let answer = try client.ask("PUT", "/.settings/settings.json\(name)", RESTClient.owner, settings)
            try #require(answer.status == 200, "\(answer.text)")
        }
        return server
    }

    private static func number(_ name: String, in text: String) throws -> Int {
        let match = try #require(text.firstMatch(of: try Regex("\"\(name)\":([0-9]+)")), "\(text)")
        let digits = String(match[1].substring ?? "")
        return try #require(Int(digits))
    }

    @Test("a worker over REST claims, extends, fails and ends jobs, and is told what is wrong")
    func rest() throws {
        let server = try Self.server()
        let client = try server.connectREST()
        func ask(_ body: String) throws -> RESTClient.Answer { try client.ask("POST", "/mail/.jobs.json", [], body) }
        #expect(try ask(#"{"do":"claim"}"#).text == #"{"count":0}"#)
        #expect(try client.ask("PATCH", "/mail/jobs.json", [], #"{"a":1,"b":{"at":1}}"#).status == 200)
        let jobs = try ask(#"{"do":"claim","n":5,"lease":600000}"#).text
        #expect(jobs.hasPrefix(#"{"count":2,"jobs":[{"attempts":1,"claim":"#), "\(jobs)")
        let claim = try Self.number("claim", in: jobs)
        let extended = try ask(#"{"do":"extend","k":"a","claim":\#(claim)}"#)
        #expect(extended.status == 200)
        #expect(extended.text.hasPrefix(#"{"until":"#))
        #expect(try ask(#"{"do":"done","k":"a","claim":\#(claim),"d":{"/sent/a":true}}"#).text == "null")
        #expect(try client.ask("GET", "/sent.json").text == #"{"a":true}"#)
        #expect(try ask(#"{"do":"done","k":"a","claim":\#(claim)}"#).status == 409)
        #expect(try ask(#"{"do":"release","k":"b","claim":\#(claim + 1)}"#).status == 409)
        #expect(try ask(#"{"do":"fail","k":"b","claim":\#(claim),"error":"x","delay":0}"#).status == 200)
        let again = try Self.number("claim", in: try ask(#"{"do":"claim","wait":60000}"#).text)
        #expect(try ask(#"{"do":"fail","k":"b","claim":\#(again),"dead":true}"#).status == 200)
        #expect(try client.ask("GET", "/mail/jobs.json").text == "null")
        #expect(try client.ask("GET", "/mail/dead/b/value.json").text == #"{"at":1}"#)
        for (body, text) in [
            ("{}", "member \\\"do\\\""), (#"{"do":"eat"}"#, "member \\\"do\\\""), ("[", "parse"),
            (#"{"do":"claim","n":0}"#, "from 1 to 100"), (#"{"do":"done","k":"a"}"#, "claim"),
            (#"{"do":"done","k":"a.b","claim":1}"#, "key"), (#"{"do":"claim","wait":70000}"#, "60000"),
        ] {
            let answer = try ask(body)
            #expect(answer.status == 400, "\(body): \(answer.text)")
            #expect(answer.text.contains(text), "\(body): \(answer.text)")
        }
        #expect(try client.ask("GET", "/mail/.jobs.json").status == 405)
        #expect(try client.ask("POST", "/other/.jobs.json", [], #"{"do":"claim"}"#).status == 400)
        #expect(try client.ask("PUT", "/mail/state/a.json", [], "1").status == 409)
        let figures = try Self.figures(of: server)
        #expect(
            figures == [
                "jobs_claimed_total 3", "jobs_done_total 1", "attempts_failed_total 2", "leases_ended_total 0",
                "jobs_dead_total 1", "workers_waiting 0",
            ])
    }

    /// What `/metrics` tells of the queue.
    private static func figures(of server: RealtimeTestServer, database: String = "default") throws -> [String] {
        let page = try server.connectREST().ask("GET", "/metrics", RESTClient.owner).text
        let labels = "{database=\"\(database)\",queue=\"/mail\"}"
        return page.split(separator: "\n").filter { $0.hasPrefix("hearth_queue_") && $0.contains(labels) }
            .map { String($0.dropFirst("hearth_queue_".count)).replacing(labels, with: "") }
    }

    @Test("a worker that waits is answered when there is a job, and its other requests go on meanwhile")
    func waiting() throws {
        let server = try Self.server()
        let worker = try server.connect()
        _ = try worker.receiveMessage()
        try worker.send(1, "jr", #"{"p":"/mail","wait":60000}"#)
        try worker.send(2, "g", #"{"p":"/x","q":{}}"#)
        #expect(try worker.receiveMessage() == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":null}}}"#)
        let producer = try server.connect()
        _ = try producer.receiveMessage()
        try producer.send(1, "p", #"{"p":"/mail/jobs/a","d":"x"}"#)
        let job = try #require(try worker.receiveMessage())
        #expect(job.hasPrefix(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{"count":1,"jobs":{"0":{"attempts":1"#), "\(job)")
        let claim = try Self.number("claim", in: job)
        // A short wait ends without a job.
        try worker.send(3, "jr", #"{"p":"/mail","wait":50}"#)
        #expect(try worker.receiveMessage() == #"{"t":"d","d":{"r":3,"b":{"s":"ok","d":{"count":0}}}}"#)
        try worker.send(4, "jd", #"{"p":"/mail","k":"a","claim":\#(claim + 7)}"#)
        #expect(try worker.receiveMessage()?.contains(#""r":4,"b":{"s":"lease_lost""#) == true)
        try worker.send(5, "jd", #"{"p":"/mail","k":"a","claim":\#(claim)}"#)
        #expect(try worker.receiveMessage() == #"{"t":"d","d":{"r":5,"b":{"s":"ok","d":""}}}"#)
        try worker.send(6, "jd", #"{"p":"/mail","k":"a","claim":\#(claim)}"#)
        #expect(try worker.receiveMessage()?.contains(#""r":6,"b":{"s":"job_gone""#) == true)
        try worker.send(7, "jz", #"{"p":"/mail"}"#)
        #expect(try worker.receiveMessage()?.contains("unknown action") == true)
    }

    @Test("a worker over REST that has gone gets no job", arguments: [[], RESTClient.owner])
    func restWorkerEnds(credential: [String]) throws {
        let server = try Self.server()
        let other = try server.connectREST()
        #expect(try other.ask("PUT", "/x.json", [], "1").status == 200)
        let worker = try server.connectREST()
        let claim = Array(#"{"do":"claim","wait":60000}"#.utf8)
        try worker.send(RESTClient.request("POST", "/mail/.jobs.json", credential, body: claim))
        try blockUntil("a worker that waits") { try Self.figures(of: server).last == "workers_waiting 1" }
        worker.hangUp()
        try blockUntil("the worker's end") { try Self.figures(of: server).last == "workers_waiting 0" }
        #expect(try other.ask("PUT", "/mail/jobs/a.json", [], "1").status == 200)
        let job = try other.ask("POST", "/mail/.jobs.json", [], #"{"do":"claim"}"#).text
        #expect(job.contains(#""attempts":1"#), "\(job)")
    }

    @Test("a worker over REST waits at a database that nobody else uses, and continues with the same connection")
    func restWorkerAlone() throws {
        let server = try Self.server()
        let worker = try server.connectREST()
        for _ in 0..<2 {
            let answer = try worker.ask("POST", "/mail/.jobs.json?ns=example", [], #"{"do":"claim","wait":50}"#)
            #expect(answer.text == #"{"count":0}"#)
        }
    }

    @Test("a worker that waits is answered when its time is over, and when the server stops", arguments: [false, true])
    func ends(hasFiles: Bool) throws {
        let server = try Self.server()
        let worker = try server.connect()
        _ = try worker.receiveMessage()
        if hasFiles {
            try worker.send(1, "p", #"{"p":"/x","d":1}"#)
            #expect(try worker.receiveMessage() == RealtimePeer.response(1))
        }
        try worker.send(2, "jr", #"{"p":"/mail","wait":50}"#)
        #expect(try worker.receiveMessage() == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":{"count":0}}}}"#)
        try worker.send(3, "jr", #"{"p":"/mail","wait":60000}"#)
        try worker.send(4, "g", #"{"p":"/y","q":{}}"#)
        #expect(try worker.receiveMessage() == #"{"t":"d","d":{"r":4,"b":{"s":"ok","d":null}}}"#)
        if hasFiles { #expect(try Self.figures(of: server, database: "example").last == "workers_waiting 1") }
        try server.beginToStop()
        #expect(try worker.receiveMessage() == #"{"t":"d","d":{"r":3,"b":{"s":"ok","d":{"count":0}}}}"#)
        worker.hangUp()
    }

    @Test(
        "workers at any node of a cluster get each job once, and a job outlives its owner",
        .enabled(if: EtcdServers.isInstalled, "etcd is not installed"))
    func cluster() throws {
        let cluster = try TestCluster(forwardsWrites: true, settings: Self.settings)
        let owner = try cluster.owner()
        var workers: [(name: String, peer: RealtimePeer)] = []
        for name in TestCluster.names {
            let peer = try cluster[name].connect("/.ws?v=5&ns=default")
            _ = try peer.receive()
            try peer.send(1, "jr", #"{"p":"/mail","wait":60000}"#)
            workers.append((name, peer))
        }
        for number in 0..<3 {
            let name = TestCluster.names[number]
            #expect(try cluster[name].connectREST().ask("PUT", "/mail/jobs/k\(number).json", [], "1").status == 200)
        }
        var keys: Set<String> = []
        for (name, peer) in workers {
            let job = try #require(try peer.receiveMessage())
            let key = try #require(job.firstMatch(of: /"key":"(k[0-9])"/)).1
            #expect(keys.insert(String(key)).inserted, "\(name): \(job)")
            let claim = try Self.number("claim", in: job)
            if name == owner { continue }
            try peer.send(2, "jd", #"{"p":"/mail","k":"\#(key)","claim":\#(claim),"d":{"/sent/\#(key)":1}}"#)
            #expect(try peer.receiveMessage() == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#)
        }
        #expect(keys.count == 3)
        // The owner stops with its worker; the next one hands the job out again.
        let follower = try #require(TestCluster.names.first { $0 != owner })
        try cluster.wait("the results of both") {
            try cluster.get("/sent", at: follower).matches(of: /"k[0-9]":1/).count == 2
        }
        try cluster.stop(owner)
        let next = try #require(workers.first { $0.name == follower }).peer
        _ = try cluster.owner(except: owner)
        var number = 3
        try cluster.wait("the job of the worker that is gone") {
            try next.send(number, "jr", #"{"p":"/mail","wait":5000}"#)
            number += 1
            return try #require(try next.receiveMessage()).contains(#""attempts":2"#)
        }
    }
}
