import JSONTree
import RealtimeDatabase
import TestSupport
import Testing

@Suite("Requests") struct RequestTests {
    @Test("a mailbox is cut where its values become too large for one turn")
    func turns() {
        let connection = ConnectionID(loop: 0, kind: .http, serial: 1)
        func set(_ bytes: Int) -> Operation {
            .set(WriteTarget(path: "a"), IncomingValue(json: CanonicalJSON(String(repeating: "1", count: bytes))))
        }
        let update = Operation.update(
            base: "a",
            [
                (WriteTarget(path: "a/b"), IncomingValue(json: "12")),
                (WriteTarget(path: "a/c"), IncomingValue(json: "12345")),
            ])
        let operations = [set(4), .get("a"), set(6), set(1), set(20), .unlisten("a"), update, set(3), set(1)]
        let requests = operations.map { Request(connection: connection, number: 0, operation: $0) }
        var ends: [Int] = []
        while ends.last ?? 0 < requests.count { ends.append(requests.endOfTurn(from: ends.last ?? 0, bytesMax: 10)) }
        #expect(ends == [3, 4, 5, 8, 9])
        #expect(requests.endOfTurn(from: 0, bytesMax: 1000) == requests.count)
    }
}
