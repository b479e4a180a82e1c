import HearthDatabaseHost
import HearthEventLoop
import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors
import HearthTreeStorage
import HearthWireProtocol
import HearthServerProtocol
import HearthAccess

/// Questions about the past over a realtime connection (additions.md 9).
extension RealtimeSession {
    func askHistory(_ number: Int64, _ request: HistoryRequest) {
        awaitAnswer(reads: true)
        if request.restores { awaitPast() }
        let (loop, sessions, id) = (context.loop, sessions, id.raw)
        let asker = asker ?? PastAsker(client: origin.client.number)
        self.asker = asker
        context.services.askHistory(
            request, by: authentication.principal, for: asker, of: database.index
        ) { result in
            _ = loop.execute { sessions[id]?.finishHistory(number, request, result) }
        }
    }

    private func finishHistory(
        _ number: Int64, _ request: HistoryRequest, _ result: Result<PastValue, HistoryRefusal>
    ) {
        if request.restores { endAwaitingPast() }
        var message: [UInt8] = []
        switch result {
        case .success(.whole(let value)) where request.restores:
            // An ordinary write, as the requesting user.
            submit(number, .set(WriteTarget(path: request.path), IncomingValue(json: value)))
            // It has its own answer.
            return answered(1)
        case .success(.rows(let rows)):
            let stream = context.services.databases.stream(
                rows, to: id, number: number, client: origin.client.number, uid: authentication.principal.uid)
            if let stream { return begin(stream) }
            submit(number, .relay(.failed(.unavailable(.stopping))))
            return answered(1)
        case .success(.whole(let value)):
            ServerMessageWriter.appendResponse(number: number, data: value.bytes, to: &message)
        case .failure(.notAdmitted(let failure)):
            submit(number, .relay(.failed(failure)))
            return answered(1)
        case .failure(.history(let error)):
            ServerMessageWriter.appendFailure(number: number, status: error.status, text: error.message, to: &message)
        }
        answer(message)
    }
}

extension HistoryError {
    fileprivate var status: StaticString {
        switch self {
        case .notKept: "not_found"
        case .tooOld: "too_old"
        case .tooLarge: "too_big"
        case .storage: "unavailable"
        }
    }
}
