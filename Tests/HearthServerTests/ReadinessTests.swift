import HearthHTTPCodec
import HearthSystem
@testable import HearthDatabaseHost
@testable import HearthServer
import HearthRealtimeDatabase
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
