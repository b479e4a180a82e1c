import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

@testable import HearthClusterSharing

@Suite("The thread of the documents that nodes share") struct SharedDocumentsTests {
    /// Notes what it is asked, and waits in its first look as one does without a node that takes writes.
    private final class Table: SharedDocuments.Table, Sendable {
        let asked = Mutex<[String]>([])
        let hasBegunLook = Semaphore()
        let endsLook = Semaphore()

        private func note(_ text: String) { asked.withLock { $0.append(text) } }

        func begin(_ whenLoaded: @escaping @Sendable () -> Void) { note("begin") }
        func catchUp() { note("catchUp") }

        func look() {
            note("look")
            hasBegunLook.signal()
            endsLook.wait()
        }

        func put(_ texts: [(name: String, text: [UInt8])]) -> SharingFailure? {
            note("put \(texts[0].name)")
            return nil
        }
    }

    @Test("who wants something put waits for one look at most, however many were asked for, and these become one")
    func looks() throws {
        let table = Table()
        let documents = try SharedDocuments { _ in table }
        documents.begin {}
        documents.look()
        table.hasBegunLook.wait()
        for _ in 1...200 {
            documents.look()
            documents.arrived()
        }
        let isPut = Semaphore()
        documents.put([("rules:a", [])]) { _ in isPut.signal() }
        table.endsLook.signal()
        table.endsLook.signal()
        isPut.wait()
        table.hasBegunLook.wait()
        documents.stop()
        #expect(table.asked.withLock { $0 } == ["begin", "look", "put rules:a", "look"])
    }
}
