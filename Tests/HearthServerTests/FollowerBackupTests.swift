import HearthAccountEndpoints
import HearthBackups
import HearthIdentity
import HearthServer
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

extension ClusterTests {
    @Suite("with a backup of a node that does not take the writes") struct FollowerBackupTests {
        private static let settings = #"{"settings":{"notes":{".history":{"keep":"30d","read":"true"}}}}"#
        private static let body = #"{"email":"ada@example.com","password":"secret1","returnSecureToken":true}"#
        private static let rules = #"{"rules":{"open":{".read":true},".indexOn":"only-these-rules"}}"#

        private static func configure(_ configuration: inout ServerConfiguration) {
            var identity = IdentityConfiguration()
            identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
            configuration.identity = identity
        }

        private static func account(_ operation: String, at node: RealtimeTestServer) throws -> Int {
            let path = "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=app"
            return try node.connectREST().ask("POST", path, [], body).status
        }

        @Test("a backup that is made while others write has a whole state, with accounts, rules and history")
        func restoring() throws {
            let cluster = try TestCluster(forwardsWrites: true, settings: Self.settings, configure: Self.configure)
            let owner = try cluster.recordedOwner()
            let name = try cluster.followers()[0]
            try cluster.wait("an account") { try Self.account("signUp", at: cluster[owner]) == 200 }
            try cluster.wait("the account at the follower") {
                try Self.account("signInWithPassword", at: cluster[name]) == 200
            }
            let rules = try cluster[owner].connectREST()
                .ask("PUT", "/.settings/rules.json", RESTClient.owner, Self.rules)
            #expect(rules.status == 200, "\(rules.text)")
            for number in 1...3 {
                let answer = try cluster[owner].connectREST()
                    .ask("PUT", "/notes/a.json", RESTClient.owner, "\(number)")
                #expect(answer.status == 200, "\(answer.text)")
            }
            let progress = Mutex((written: 0, isOver: false))
            let port = cluster[owner].port
            let writer = try NamedThread(name: "writer") {
                var client: RESTClient?
                while !progress.withLock({ $0.isOver }) {
                    let next = progress.withLock { $0.written } + 1
                    client = client ?? (try? RESTClient(port: port))
                    let answer = try? client?.ask("PUT", "/w/\(next).json", RESTClient.owner, "\(next)")
                    // On a busy machine a lease may end: then a write is refused, or its connection ends.
                    if answer?.status == 200 { progress.withLock { $0.written = next } } else { client = nil }
                }
            }
            func count(at node: RealtimeTestServer) throws -> Int {
                let text = try node.connectREST().ask("GET", "/w.json?shallow=true", RESTClient.owner).text
                return text.matches(of: /"[0-9]+":true/).count
            }
            try cluster.wait("some writes") { try count(at: cluster[name]) >= 50 }
            let before = try count(at: cluster[name])
            let target = TemporaryFolder()
            let set = try BackupSet.make(
                of: cluster.dataFolder(of: name), in: target.path, now: WallClock.milliseconds)
            let after = progress.withLock { state in
                state.isOver = true
                return state.written + 1
            }
            writer.join()
            let metrics = try cluster[name].connectAdminREST().ask("GET", "/metrics", RESTClient.owner).text
            #expect(metrics.contains(/hearth_backup_last_success_timestamp_seconds [1-9]/))

            // A server that is alone starts on all of it.
            #expect(set.databases == ["default"])
            let folder = "\(target.path)/restored"
            _ = try BackupSet.restore(set.path, in: folder)
            let settings = "\(target.path)/settings.json"
            TemporaryFolder.write(Array(Self.settings.utf8), to: settings)
            let alone = try RealtimeTestServer {
                Self.configure(&$0)
                $0.dataFolder = folder
                $0.settingsFile = settings
                $0.defaultDatabase = "default"
            }
            let restored = try count(at: alone)
            #expect(restored >= before && restored <= after)
            let last = try alone.connectREST().ask("GET", "/w/\(restored).json", RESTClient.owner).text
            #expect(last == "\(restored)")
            #expect(try Self.account("signInWithPassword", at: alone) == 200)
            let present = try alone.connectREST().ask("GET", "/.settings/rules.json", RESTClient.owner).text
            #expect(present.contains("only-these-rules"), "\(present)")
            let history = try alone.connectREST().ask("GET", "/notes/a/.history.json", RESTClient.owner).text
            #expect(history.contains(#""value":1"#) && history.contains(#""value":2"#), "\(history)")
            #expect(history.matches(of: /"seq":/).count == 3, "\(history)")
        }
    }
}
