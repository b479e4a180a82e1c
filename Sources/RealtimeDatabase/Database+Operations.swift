import HearthJSONTree
import HearthSecurityRules

/// Processing of requests.
extension Database {
    struct Turn {
        var record: LogRecord
        var outputs: [Output]
        /// Of the request that is worked on.
        var principal = Principal.nobody
        /// That of the request (``Request/client``).
        var client: UInt64 = 0
        /// The rules' decision, if it was made before the turn.
        var explanation: Explanation?
        /// Bytes of the values that were read, to be sent or to be compared; those that requests share count once.
        var readBytes = 0
        var reads = TurnReads()
        /// The cost of telling listeners of queries (``SharedReads/cost``).
        var tellingCost = 0
    }

    /// The output of a request waits until its commit has told all listeners.
    func keepRest(of turn: inout Turn) {
        guard let count = telling?.outputCount else { return }
        telling?.rest = Array(turn.outputs[count...])
        turn.outputs.removeSubrange(count...)
    }

    func run(_ request: Request, in turn: inout Turn, seenBy observer: any RequestObserver) {
        let start = turn.outputs.count
        observer.begin()
        run(request, in: &turn)
        let isUnindexed =
            switch request.operation {
            case .get(let path, let query?, _), .listenQuery(let path, let query, _, _, _, _):
                !hasIndex(for: query, at: path)
            default: false
            }
        observer.end(request, turn.outputs[start...], isUnindexed: isUnindexed)
    }

    private func expire(before request: Request, in turn: inout Turn) {
        if turn.record.time >= indexes.nextExpiry { expire(before: request.operation, in: &turn) }
    }

    /// Whether a large write has to be begun anew instead, because of what the server itself has written.
    func mustBeginAnew(_ request: Request, in turn: inout Turn) -> Bool {
        guard request.examined != nil || pendingWrite.decision?.isAbout(request) == true else { return false }
        expire(before: request, in: &turn)
        return isOutdated(request)
    }

    func run(_ request: Request, in turn: inout Turn) {
        let connection = request.connection
        expire(before: request, in: &turn)
        if turn.principal !== request.principal { turn.principal = request.principal }
        turn.client = request.client
        turn.explanation = pendingWrite.decision == nil ? nil : explanation(of: request)
        if pendingWrite.isThere, pendingWrite.isAbout(request) { pendingWrite.isMade = true }
        answerWaiting(connection, in: &turn)
        if let reply = turnAway(request) {
            turn.outputs.append(.reply(connection, number: request.number, reply))
            return
        }
        switch request.operation {
        case .set(let target, let value, let expected, let echoes):
            let reply: Reply
            do throws(Failure) {
                try checkCost(of: request)
                guard let stored = try set(target, value, expecting: expected, for: request, in: &turn) else { return }
                reply = echoes ? .value(echo(of: value, stored, at: target.path, in: turn)) : .done
            } catch {
                reply = .failed(hiding(error, at: target.path, from: connection, in: turn))
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .update(let base, let entries):
            let reply = Self.reply { () throws(Failure) in
                try checkCost(of: request)
                try update(base, entries, in: &turn)
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .setChildren(let base, let children):
            let reply = Self.reply { () throws(Failure) in
                try checkCost(of: request)
                try setChildren(of: base, children, in: &turn)
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .get(let path, query: nil, needsIndex: _): get(path, for: request, in: &turn)
        case .get(let path, let query?, let needsIndex):
            get(path, query, needsIndex: needsIndex, for: request, in: &turn)
        case .describe(let path, let page):
            let reply: Reply
            do throws(Failure) { reply = .value(try describe(path, page, in: turn)) } catch { reply = .failed(error) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .listen(let path, let known, let since, let missed):
            listen(path, known: known, since: since, missed, for: request, in: &turn)
        case .unlisten(let path):
            endListener(path, of: connection, in: &turn)
            turn.outputs.append(.reply(connection, number: request.number, .done))
        case .listenQuery(let path, let query, let form, let known, let text, let saysPosition):
            listen(
                path, query, form, known: known, text: text, saysPosition: saysPosition, for: request, in: &turn)
        case .unlistenQuery(let name):
            endQueryListener(name, of: connection, in: &turn)
            turn.outputs.append(.reply(connection, number: request.number, .done))
        case .dropListener(let path): endListener(path, of: connection, request: request.number, in: &turn)
        case .become(let reply):
            endClaims(of: connection, exceptBy: request.principal, in: &turn)
            if let reply { turn.outputs.append(.reply(connection, number: request.number, reply)) }
            if listeners.setPrincipal(request.principal, of: connection) {
                judgeListeners(of: connection, in: &turn)
            }
        case .relay(let reply): turn.outputs.append(.reply(connection, number: request.number, reply))
        case .onDisconnect(let entries):
            let reply = Self.reply { () throws(Failure) in try owe(entries, for: connection, in: &turn) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .cancelOnDisconnect(let path):
            let reply = Self.reply { () throws(Failure) in try cancelOwed(path, of: connection, in: &turn) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .job(let place, let operation):
            let reply: Reply
            do throws(Failure) {
                guard let answer = try work(at: place, operation, for: request, in: &turn) else { return }
                reply = answer.isNull ? .done : .value(answer)
            } catch {
                reply = .failed(error)
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .explain(let operation, let principal):
            let reply: Reply
            do throws(Failure) {
                reply = .explained(try explain(operation, by: principal, now: turn.record.time))
            } catch {
                reply = .failed(error)
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .forfeit: forfeit(connection, in: &turn)
        case .disconnect:
            disconnect(connection, in: &turn)
            passTurns(of: connection, in: &turn)
        }
    }

    private static func reply(to body: () throws(Failure) -> Void) -> Reply {
        do throws(Failure) {
            try body()
            return .done
        } catch {
            return .failed(error)
        }
    }
}
