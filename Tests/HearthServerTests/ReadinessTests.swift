import HTTPCodec
@testable import HearthServer
import RealtimeDatabase
import Testing

@Suite("Readiness")
struct ReadinessTests {
    @Test("a server is ready while all its databases take writes")
    func databases() {
        let readiness = Readiness()
        #expect(readiness.problem == nil)
        readiness.database("b", refusesWrites: .full)
        readiness.database("a", refusesWrites: .readOnly("why"))
        #expect(readiness.problem == "the database 'a' refuses writes: the data folder cannot be written: why")
        readiness.database("a", refusesWrites: nil)
        let text = "the database 'b' refuses writes: no space left on the device that holds the data folder"
        #expect(readiness.problem == text)
        #expect(HTTPResponse.readiness(readiness).status == .serviceUnavailable)
        readiness.database("b", refusesWrites: nil)
        #expect(readiness.problem == nil)
        #expect(HTTPResponse.readiness(readiness).status == .ok)
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
