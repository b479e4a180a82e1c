import Glibc
import HearthClusterNode
import HearthEtcdGateway
import HearthHTTPCodec
import HearthServer
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

@Suite(
    "A cluster", .enabled(if: EtcdServers.isInstalled, "etcd is not installed"), .serialized, .timeLimit(.minutes(15)))
struct ClusterTests {
    static func listen(_ path: String, at node: RealtimeTestServer) throws -> RealtimePeer {
        let peer = try node.connect("/.ws?v=5&ns=default")
        _ = try peer.receive()
        try peer.send(1, "q", #"{"p":"\#(path)","h":""}"#)
        return peer
    }

    /// What a peer is told until a message contains a text.
    static func told(_ peer: RealtimePeer, until text: String) throws -> [String] {
        var messages: [String] = []
        while messages.last?.contains(text) != true { messages.append(try #require(try peer.receiveMessage())) }
        return messages
    }

    @Test("listeners at every node hear each commit once, in order, whichever node takes the writes")
    func following() throws {
        try TestCluster.undisturbed {
            let cluster = try TestCluster()
            let first = try cluster.term()
            let others = TestCluster.names.filter { $0 != first.node }
            let peers = try others.map { try Self.listen("/n", at: cluster[$0]) }
            for peer in peers { _ = try cluster.told(peer, until: #""r":1"#, in: first) }
            for number in 1...50 { try cluster.write("/n", "\(number)", in: first) }
            let expected = (1...50).map { #"{"t":"d","d":{"a":"d","b":{"p":"n","d":\#($0)}}}"# }
            for peer in peers { #expect(try cluster.told(peer, until: #""d":50}"#, in: first) == expected) }

            // In an orderly way it gives everything up at once.
            try cluster.stop(first.node)
            let second = try cluster.term()
            #expect(second.node != first.node)
            for number in 51...60 { try cluster.write("/n", "\(number)", in: second) }
            for peer in peers {
                let told = try cluster.told(peer, until: #""d":60}"#, in: second)
                #expect(told == (51...60).map { #"{"t":"d","d":{"a":"d","b":{"p":"n","d":\#($0)}}}"# })
            }
            // A client that changes nodes can resume.
            let positions = try others.map { try Self.position(of: cluster[$0]) }
            #expect(Set(positions).count == 1, "\(positions)")
            // A returning one reads the missed records.
            try cluster.start(first.node)
            try cluster.wait("the first node") { try cluster.get("/n", at: first.node) == "60" }
        }
    }

    @Test("events of triggers that the owner could not send are sent by the next one")
    func triggers() throws {
        try TestCluster.undisturbed {
            let isBroken = Mutex(true)
            let taken = Mutex<Set<String>>([])
            let receiver = try EventReceiver { post in
                if isBroken.withLock({ $0 }) { return 500 }
                taken.withLock { _ = $0.insert(post.id) }
                return 200
            }
            let trigger = #"{"name":"t","on":"created","url":"\#(receiver.url)"}"#
            let cluster = try TestCluster(settings: #"{"settings":{"rooms":{"$room":{".trigger":\#(trigger)}}}}"#)
            let first = try cluster.term()
            for number in 1...3 { try cluster.write("/rooms/r\(number)", "1", in: first) }
            for name in TestCluster.names {
                try cluster.wait("the followers") { try cluster.get("/rooms/r3", at: name) == "1" }
            }
            try cluster.wait("attempts") { receiver.posts.count >= 3 }
            try cluster.stop(first.node)
            isBroken.withLock { $0 = false }
            try cluster.wait("the events") { taken.withLock { $0.count } == 3 }
        }
    }

    @Test("a node that does not take the writes refuses them, and says which node does")
    func refusing() throws {
        let cluster = try TestCluster()
        let owner = try cluster.owner()
        let other = try #require(TestCluster.names.first { $0 != owner })
        try cluster.wait("the value") { try cluster.get("/owner", at: other) == "\"\(owner)\"" }
        let answer = try cluster[other].connectREST().ask("PUT", "/a.json", [], "1")
        #expect(answer.status == 503)
        #expect(answer.text.contains("the node '\(owner)' takes the writes of this database"), "\(answer.text)")
        let peer = try cluster[other].connect("/.ws?v=5&ns=default")
        _ = try peer.receive()
        try peer.send(7, "o", #"{"p":"a","d":1}"#)
        let refusal = try #require(try peer.receiveMessage())
        #expect(refusal.contains("the node '\(owner)' takes the writes"), "\(refusal)")
        var readiness = ""
        do {
            try cluster.wait("a node that is ready") {
                let answer = try cluster[other].connectAdminREST().ask("GET", "/readyz")
                readiness = answer.text
                return answer.status == 200
            }
        } catch {
            Issue.record("not ready: \(readiness)")
        }
    }

    @Test("what clients of a node that stops want written when they end is written")
    func disconnecting() throws {
        let cluster = try TestCluster()
        let owner = try cluster.owner()
        let peer = try cluster[owner].connect("/.ws?v=5&ns=default")
        _ = try peer.receive()
        try peer.send(1, "o", #"{"p":"gone","d":true}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(1))
        let other = try #require(TestCluster.names.first { $0 != owner })
        #expect(try cluster.get("/gone", at: other) == "null")
        peer.hangUp()
        try cluster.wait("the write") { try cluster.get("/gone", at: other) == "true" }
    }

    @Test("without a majority of etcd nothing is acknowledged, and what is refused is not there afterwards")
    func majority() throws {
        try TestCluster.undisturbed {
            let cluster = try TestCluster(etcdMembers: 3)
            let term = try cluster.term()
            let owner = term.node
            try cluster.write("/w/before", "1", in: term)
            cluster.etcd.pause(0)
            cluster.etcd.pause(1)
            // The first one is in doubt until etcd is back: it gets no answer before.
            let doubtful = try cluster[owner].connectREST()
            let host = cluster[owner].host
            try doubtful.send("PUT /w/doubtful.json HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 1\r\n\r\n1")
            try cluster.wait("the end of the lease") {
                try cluster[owner].connectAdminREST().ask("GET", "/readyz").text.contains("refuses writes")
            }
            for number in 1...3 {
                #expect(try cluster[owner].connectREST().ask("PUT", "/w/r\(number).json", [], "1").status == 503)
            }
            cluster.etcd.resume(0)
            cluster.etcd.resume(1)
            let isAccepted = try doubtful.receive(answering: .put).status == 200
            try cluster.write("/w/after", "1", in: cluster.term())
            for name in TestCluster.names {
                try cluster.wait("the last write") { try cluster.get("/w/after", at: name) == "1" }
                let expected = #"{"after":1,"before":1\#(isAccepted ? #","doubtful":1"# : "")}"#
                #expect(try cluster.get("/w", at: name) == expected)
            }
        }
    }

    @Test("a node whose files do not fit the cluster's log does not start, and says what to do")
    func foreignFiles() throws {
        let folder = TemporaryFolder()
        do {
            let alone = try RealtimeTestServer { $0.dataFolder = folder.path }
            let client = try alone.connectREST()
            #expect(try client.ask("PUT", "/a.json?ns=default", [], "1").status == 200)
        }
        let cluster = try TestCluster()
        _ = try cluster.owner()
        let error = #expect(throws: Server.StartError.self) {
            let members = cluster.etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
            _ = try RealtimeTestServer {
                $0.dataFolder = folder.path
                $0.cluster = ClusterConfiguration(EtcdStore.one(members), node: "n4")
            }
        }
        let advice = "its files are of another history than the cluster's: move the data folder away and keep it"
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
    }

    /// Where the default database of a node is.
    static func position(of node: RealtimeTestServer) throws -> String {
        let peer = try node.connect("/.ws?v=5&ns=default")
        _ = try peer.receive()
        try peer.send(1, "q", #"{"p":"none","since":""}"#)
        let answer = try #require(try told(peer, until: #""r":1"#).last)
        return String(try #require(answer.firstMatch(of: /"pos":"([0-9a-f:]+)"/)).1)
    }

    @Test("a cluster that was put back to an older copy believes no position of what it has lost")
    func olderCopy() throws {
        let (folder, copy) = (TemporaryFolder(), TemporaryFolder())
        /// The log of the cluster is founded again with what the node has.
        func withNode<Result>(_ body: (RealtimeTestServer, EtcdServers) throws -> Result) throws -> Result {
            let etcd = try EtcdServers(count: 1)
            let node = try RealtimeTestServer {
                $0.dataFolder = folder.path
                let members = etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
                $0.cluster = ClusterConfiguration(EtcdStore.one(members), node: "n1")
            }
            return try body(node, etcd)
        }
        func write(_ name: String, _ numbers: ClosedRange<Int>, to node: RealtimeTestServer) throws {
            let client = try node.connectREST()
            for number in numbers {
                let deadline = MonotonicTime.current + Patience.limit
                while try client.ask("PUT", "/l/\(name)\(number).json", [], "1").status != 200 {
                    try #require(MonotonicTime.current < deadline)
                }
            }
        }
        func files(of source: String, to target: String) {
            for name in TemporaryFolder.files(in: source) where !name.hasSuffix("-shm") && name != "lock" {
                TemporaryFolder.write(TemporaryFolder.contents(of: "\(source)/\(name)"), to: "\(target)/\(name)")
            }
        }
        let (kept, lost, event) = try withNode { node, _ in
            try write("a", 1...5, to: node)
            let kept = try Self.position(of: node)
            files(of: folder.path, to: copy.path)
            let stream = try EventStreamClient("/l.json?ids=true", of: node)
            _ = try stream.nextLine()
            try write("b", 1...5, to: node)
            for _ in 1...5 { _ = try stream.nextLine() }
            return (kept, try Self.position(of: node), stream.lastEventID)
        }
        #expect(event == Array(lost.utf8))
        for name in TemporaryFolder.files(in: folder.path) { unlink("\(folder.path)/\(name)") }
        files(of: copy.path, to: folder.path)
        try withNode { node, etcd in
            // A copy of what had a log: it does not begin another one by itself.
            let readiness = try node.connectAdminREST().ask("GET", "/readyz").text
            #expect(readiness.contains("etcd has no log of it"), "\(readiness)")
            try ReplacingTests.rebuild(etcd)
            let deadline = MonotonicTime.current + Patience.limit
            while try node.connectAdminREST().ask("GET", "/readyz").text != "ready\n" {
                try #require(MonotonicTime.current < deadline)
            }
            // The record that has the same number now is another one.
            try write("c", 1...8, to: node)
            let (present, children) = (try Self.position(of: node), 1...8)
            #expect(present.prefix(16) != lost.prefix(16))
            let added = children.map { #""c\#($0)":1"# }.joined(separator: ",")
            let all = "{\((1...5).map { #""a\#($0)":1,"# }.joined())\(added)}"
            for (since, isRecovered) in [(lost, false), (kept, true)] {
                let peer = try node.connect("/.ws?v=5&ns=default")
                _ = try peer.receive()
                try peer.send(1, "q", #"{"p":"l","since":"\#(since)"}"#)
                let said = try Self.told(peer, until: #""r":1"#)
                let update = #""a":"m","b":{"p":"l","d":{\#(added)},"pos":"\#(present)"}"#
                #expect(
                    said == [
                        #"{"t":"d","d":{\#(isRecovered ? update : #""a":"d","b":{"p":"l","d":\#(all)}"#)}}"#,
                        #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{"recovered":\#(isRecovered),"pos":"\#(present)"}}}}"#,
                    ], "\(since)")
                let stream = try EventStreamClient("/l.json?ids=true", of: node, lastEventID: Array(since.utf8))
                let value =
                    isRecovered
                    ? "patch \(#"{"path":"/","data":{\#(added)}}"#)" : "put \(#"{"path":"/","data":\#(all)}"#)"
                #expect(try stream.nextLine() == value, "\(since)")
            }
        }
    }

    @Test("a server with data founds the cluster's log, and gives its positions on")
    func growing() throws {
        let folder = TemporaryFolder()
        let etcd = try EtcdServers(count: 1)
        func server(_ isNode: Bool) throws -> RealtimeTestServer {
            try RealtimeTestServer {
                $0.dataFolder = folder.path
                guard isNode else { return }
                let members = etcd.ports.map { EtcdMember(host: "127.0.0.1", port: $0) }
                $0.cluster = ClusterConfiguration(EtcdStore.one(members), node: "n1")
            }
        }
        var before = ""
        do {
            let alone = try server(false)
            for number in 1...3 {
                #expect(try alone.connectREST().ask("PUT", "/a.json?ns=default", [], "\(number)").status == 200)
            }
            before = try Self.position(of: alone)
        }
        var epochs: Set<Substring> = []
        for round in 1...3 {
            let node = try server(true)
            #expect(try Self.position(of: node) == before, "round \(round)")
            let deadline = MonotonicTime.current + Patience.limit
            while try node.connectREST().ask("PUT", "/a.json", [], "4").status != 200 {
                try #require(MonotonicTime.current < deadline)
            }
            // A client from before resumes.
            let peer = try node.connect("/.ws?v=5&ns=default")
            _ = try peer.receive()
            try peer.send(1, "q", #"{"p":"none","since":"\#(before)"}"#)
            let told = try Self.told(peer, until: #""r":1"#)
            #expect(told.last?.contains(#""recovered":true"#) == true, "round \(round): \(told)")
            before = try Self.position(of: node)
            epochs.insert(before.split(separator: ":")[0])
        }
        // The log has a history of its own, which outlives the processes.
        #expect(epochs.count == 1)
    }

    @Test(
        "an owner whose log cannot be synced gives the writes away, and says no more how far it reaches, before it is started again"
    )
    func failedSync() throws {
        try TestCluster.undisturbed {
            let disks = Dictionary(uniqueKeysWithValues: TestCluster.names.map { ($0, SimulatedDisk()) })
            let cluster = try TestCluster { configuration in
                guard let disk = configuration.cluster.flatMap({ disks[$0.node] }) else { return }
                configuration.dataFolder = disk.path + "/data"
            }
            let term = try cluster.term()
            let first = term.node
            let disk = try #require(disks[first])
            // The disk fails once, and the system tells of it once.
            let syncCount = Mutex(0)
            disk.observe { call, path in
                guard call == .sync, path.hasSuffix("/default.log-wal") else { return 0 }
                return syncCount.withLock { count in
                    count += 1
                    return count == 1 ? EIO : 0
                }
            }
            try cluster.write("/a", "1", in: term)
            try cluster.wait("a sync") { syncCount.withLock { $0 } > 0 }
            let second = try cluster.term(except: first)
            for number in 2...5 { try cluster.write("/a", "\(number)", in: second) }
            try cluster.wait("that it is not ready") {
                try cluster[first].connectAdminREST().ask("GET", "/readyz").status == 503
            }
            #expect(syncCount.withLock { $0 } == 1)
            disk.observe(nil)
            try cluster.stop(first)
            try cluster.start(first)
            try cluster.wait("all writes") { try cluster.get("/a", at: first) == "5" }
            try cluster.wait("that it is ready") {
                try cluster[first].connectAdminREST().ask("GET", "/readyz").status == 200
            }
        }
    }
}
