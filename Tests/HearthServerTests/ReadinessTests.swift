import HearthClusterNode
import HearthHTTPCodec
import HearthServerCodecs
import HearthSystem
@testable import HearthDatabaseHost
@testable import HearthServer
import HearthRealtimeDatabase
import HearthServerLog
import Testing
import HearthStorageErrors
@testable import HearthHTTPConnections
import HearthHTTPResponses

@Suite("Readiness")
struct ReadinessTests {
    @Test("a server is ready while its folder, its databases and its accounts can be read and written")
    func troubles() {
        let readiness = Readiness()
        #expect(readiness.problem == nil)
        readiness.accounts(.full)
        let full = "no space left on the device that holds the data folder"
        #expect(readiness.problem == "accounts cannot be read and written: \(full)")
        readiness.database("b", .refusesWrites(.full))
        readiness.database("a", .cannotBeOpened(.readOnly("why")))
        #expect(readiness.problem == "the database 'a' cannot be opened: the data folder cannot be written: why")
        readiness.database("a", nil)
        #expect(readiness.problem == "the database 'b' refuses writes: \(full)")
        readiness.folder(.replaced("/x/lock is gone"))
        #expect(readiness.problem == "the data folder is not the one that was opened: /x/lock is gone")
        #expect(HTTPResponse.readiness(readiness, isDetailed: true).status == .serviceUnavailable)
        readiness.folder(nil)
        readiness.database("b", nil)
        readiness.accounts(nil)
        #expect(readiness.problem == nil)
        #expect(HTTPResponse.readiness(readiness, isDetailed: true).status == .ok)
    }

    @Test("a full etcd is the reason of all that follows from it")
    func fullEtcd() {
        let readiness = Readiness(node: "n1")
        let log = Log(level: .error, descriptor: -1)
        readiness.take(.leaseBegan(store: "home", isHome: true), log)
        readiness.database("a", .refusesWrites(.etcdFull))
        readiness.take(.full(true, store: "home", isHome: true), log)
        #expect(readiness.problem?.hasPrefix("etcd is full: its file has reached --quota-backend-bytes") == true)
        #expect(readiness.publicProblem == "the servers that keep the commit log are full")
        // Databases of another etcd cluster may take no writes, those at home do.
        readiness.take(.full(true, store: "blue", isHome: false), log)
        readiness.take(.full(false, store: "home", isHome: true), log)
        #expect(readiness.problem?.hasPrefix("the database 'a' refuses writes: etcd is full") == true)
        readiness.database("a", nil)
        #expect(readiness.problem == nil)
    }

    @Test("everybody is told as much, but no name of a database or a file")
    func publicText() {
        let readiness = Readiness()
        #expect(readiness.publicProblem == nil)
        readiness.database("secret", .cannotBeOpened(.readOnly("/var/lib/hearth")))
        #expect(readiness.publicProblem == "a database cannot be opened: the data folder cannot be written")
        readiness.database("secret", .refusesWrites(.inputOutput("/var/lib/hearth")))
        #expect(readiness.publicProblem == "a database refuses writes: the disk reported an error")
        readiness.folder(.replaced("/var/lib/hearth"))
        #expect(readiness.publicProblem == "the data folder is not the one that was opened")
        readiness.stop()
        #expect(readiness.publicProblem == "the server is shutting down")
    }

    @Test("a node of a cluster says which node, and which database of it, is the reason")
    func cluster() {
        let readiness = Readiness(node: "n1")
        #expect(readiness.problem == "the node 'n1' has no lease yet: etcd has not answered")
        let log = Log(level: .error, descriptor: -1)
        readiness.take(.nameTaken(address: "10.0.0.2:9000", store: "blue", isHome: false), log)
        #expect(readiness.problem == "the node 'n1' has no lease yet: etcd has not answered")
        readiness.take(.nameTaken(address: "10.0.0.2:9000", store: "home", isHome: true), log)
        #expect(readiness.problem == "the node 'n1' has no lease: a node at 10.0.0.2:9000 has the same name")
        #expect(readiness.publicProblem == "this node of the cluster has no lease")
        readiness.lease(true)
        #expect(readiness.problem == nil)
        readiness.take(.cutOff(true, store: "home"), log)
        readiness.take(.cutOff(true, store: "blue"), log)
        readiness.take(.cutOff(false, store: "blue"), log)
        #expect(readiness.problem == "other nodes do not reach the node 'n1'")
        #expect(readiness.publicProblem == "other nodes of the cluster do not reach this one")
        readiness.take(.cutOff(false, store: "home"), log)
        #expect(readiness.problem == nil)
        readiness.awaitsLog("a")
        #expect(readiness.problem == "the database 'a' was opened, and has not seen the cluster's log yet")
        #expect(readiness.publicProblem == "a database was opened, and has not seen the cluster's log yet")
        // What its files can do does not matter before.
        readiness.database("a", nil)
        #expect(readiness.problem != nil)
        readiness.take(.follows(database: "a"), Log(level: .error, descriptor: -1))
        #expect(readiness.problem == nil)
        readiness.lease(false)
        #expect(
            readiness.problem
                == "the node 'n1' has lost its lease: etcd cannot be reached, or it did not answer in time")
        readiness.database("a", .isCopied(.replaced))
        let waits = "was restored, or its log was rebuilt, and this node does not have the new state yet"
        #expect(readiness.problem == "the database 'a' \(waits)")
        readiness.copyFailed("a", "n2: it has no such database")
        #expect(
            readiness.problem
                == "the database 'a' \(waits), and the last attempt failed: n2: it has no such database")
        #expect(readiness.publicProblem == "a database \(waits)")
        readiness.database("a", .isCopied(.behind))
        #expect(readiness.problem == "the database 'a' is being copied from another node")
        readiness.database("a", .cannotFollow("why"))
        #expect(readiness.problem == "the database 'a' cannot follow the cluster's log: why")
        #expect(readiness.publicProblem == "a database cannot follow the cluster's log")
        // Only a copy that is under way can fail.
        readiness.copyFailed("a", "n2: it has no such database")
        #expect(readiness.problem == "the database 'a' cannot follow the cluster's log: why")
    }

    @Test("a server whose disk is nearly full is not ready until there is room again")
    func fullDisk() throws {
        let readiness = Readiness()
        readiness.disk(DiskSpace(available: 3 << 20, total: 1 << 40), bytesMin: 4 << 20)
        #expect(readiness.problem == "the disk of the data folder is nearly full: 3 MiB are free")
        #expect(readiness.publicProblem == "the disk is nearly full")
        readiness.disk(DiskSpace(available: 4 << 20, total: 1 << 40), bytesMin: 4 << 20)
        #expect(readiness.problem == nil)
        let server = try RealtimeTestServer { $0.freeBytesMin = .max }
        #expect(try server.connectREST().ask("GET", "/readyz").status == 503)
    }

    @Test("a server that ends is not ready")
    func ending() throws {
        let server = try RealtimeTestServer()
        #expect(try server.connectREST().ask("GET", "/readyz").text == "ready\n")
        let readiness = server.server.services.readiness
        #expect(readiness.problem == nil)
        try server.beginToStop()
        server.waitForEnd()
        #expect(readiness.problem == "the server is shutting down")
    }
}
