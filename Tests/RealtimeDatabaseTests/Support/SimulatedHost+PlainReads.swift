import HearthDatabaseScheduler
import HearthJSONTree
import HearthRealtimeDatabase

extension SimulatedHost {
    /// Event loops may answer gets themselves between any two events. An answer must be what all have been told.
    func checkPlainReads(_ event: Event) {
        guard case .requests(let requests) = event, failure == nil else { return }
        for request in requests {
            guard case .get(let path, query: nil, _) = request.operation else { continue }
            for path in [path, path.parent ?? path] { check(path, for: request.connection) }
        }
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
