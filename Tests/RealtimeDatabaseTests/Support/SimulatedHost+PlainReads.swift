import HearthDatabaseScheduler
import HearthJSONTree
import HearthRealtimeDatabase

extension SimulatedHost {
    /// Event loops may answer gets themselves between any two events. An answer must be what all have been told.
    func checkPlainReads() {
        guard failure == nil, let connection = clients.keys.min(by: { $0.raw < $1.raw }) else { return }
        let places = Set(clients.values.flatMap(\.listening)).sorted() + [.root]
        let path = places[eventCount % places.count]
        for path in [path, path.parent ?? path] { check(path, for: connection) }
    }

    private func check(_ path: Path, for connection: ConnectionID) {
        let read = PlainRead(connection: connection, number: 0, principal: .nobody, path: path, client: 0)
        let expected = told.tree.value(at: path)
        var answers: [CanonicalJSON] = []
        let left = answerAtOnce([read]) { answers.append(CanonicalJSON(trusted: Array($1))) }
        expect(left.count + answers.count == 1, "\(left) of one get is left, with \(answers.count) answers")
        for answer in answers {
            plainReadCount += 1
            expect(answer == expected, "a get is answered at once with \(answer) at \(path), not \(expected)")
        }
    }
}
