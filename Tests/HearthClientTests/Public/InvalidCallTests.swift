import HearthClient
import HearthServerSupport
import Testing

@Suite("Calls that cannot be made, and whose result nobody asks for", .timeLimit(.minutes(15)))
struct InvalidCallTests {
    @Test("are named in the log, and others are not")
    func log() async throws {
        let lines = EventLog()
        let server = ScriptedServer()
        let database = try server.client { options in
            options.startsOnline = false
            options.logger = { lines.add("\($0)") }
        }
        let wrong = database.reference(withPath: "a.b")
        let place = database.reference(withPath: "x")
        wrong.setValue(1, withCompletionBlock: nil)
        place.setValue(.double(.nan), withCompletionBlock: nil)
        place.updateChildValues(["a.b": 1], withCompletionBlock: nil)
        place.onDisconnectSetValue(.double(.nan), withCompletionBlock: nil)
        wrong.runTransactionBlock({ .success(withValue: $0) }, andCompletionBlock: nil)
        wrong.observe(.value) { _ in }
        wrong.observeSingleEvent(of: .value) { _ in }
        wrong.removeAllObservers()
        wrong.keepSynced(true)

        wrong.setValue(1) { error, _ in lines.add("told: \(error.map { "\($0)" } ?? "-")") }
        wrong.observe(.value, with: { _ in }, withCancel: { lines.add("told: \($0)") })
        await #expect(throws: DatabaseError.self) { try await wrong.setValue(1) }
        place.setValue(1, withCompletionBlock: nil)
        database.goOnline()

        let rule = "a key contains one of . $ # [ ] / or a control character"
        let reason = "'a.b' is not a path: \(rule)"
        var all: [String] = []
        while let line = await lines.next(), !line.contains("connecting") { all.append(line) }
        #expect(
            all == [
                "warning: a write at (no path) is not made: \(reason)",
                "warning: a write at /x is not made: a number is not finite",
                "warning: a write at /x is not made: invalid path: \(rule)",
                "warning: an on-disconnect write at /x is not made: a number is not finite",
                "warning: a transaction at (no path) is not made: \(reason)",
                "warning: (no path) is not observed: \(reason)", "warning: (no path) is not observed: \(reason)",
                "warning: (no path) keeps its observers: \(reason)",
                "warning: (no path) is not kept up to date: \(reason)", "told: \(reason)", "told: \(reason)",
            ])
    }
}
