package import HearthDatabaseHost
import HearthJSONTree
package import HearthRealtimeDatabase
package import HearthTreeStorage
package import HearthWireProtocol

/// Why the past is not told.
package enum HistoryRefusal: Error {
    /// The database does not let the client ask.
    case notAdmitted(Failure)
    case history(HistoryError)
}

extension ConnectionServices {
    /// Answers on another thread. The right to read the present does not include the past: that needs an administrator,
    /// or a setting.
    ///
    /// - parameter asker: kept by the caller as long as the answer is wanted.
    package func askHistory(
        _ request: HistoryRequest, by principal: Principal, for asker: PastAsker, of index: UInt32,
        then: @escaping @Sendable (Result<PastValue, HistoryRefusal>) -> Void
    ) {
        let (keeper, name) = (databases.keeper, directory.name(of: index))
        let asker = asker.weak
        let client = asker.client
        @Sendable func ask(then: @escaping @Sendable (Result<PastValue, HistoryRefusal>) -> Void) {
            keeper.ask(request.question, at: request.path, of: name, for: asker) {
                then($0.mapError(HistoryRefusal.history))
            }
        }
        if principal.isAdministrator { return ask(then: then) }
        let thread = databases
        thread.ask { databases in
            databases.admitToHistory(of: request.path, by: principal, from: client, in: index) { failure in
                if let failure { return then(.failure(.notAdmitted(failure))) }
                ask { result in
                    // The restored value is not in the answer.
                    guard case .success(let value) = result, !request.restores else { return then(result) }
                    thread.ask { databases in
                        do throws(Failure) {
                            try databases.countBytesRead(
                                value.byteCountRead, at: request.path, by: principal, from: client, in: index)
                            then(result)
                        } catch {
                            then(.failure(.notAdmitted(error)))
                        }
                    }
                }
            }
        }
    }
}

extension PastValue {
    fileprivate var byteCountRead: Int {
        switch self {
        case .whole(let value): value.byteCountRead
        case .rows(let rows): rows.byteCount
        }
    }
}

extension HistoryRequest {
    /// The default number of entries in one answer.
    private static let limit = 20
    private static let differences = 1000

    /// The part to find out.
    fileprivate var question: PastQuestion {
        switch command {
        case .get(let moment): .value(moment.stored)
        case .restore(let moment): .whole(moment.stored)
        case .log(let before, let limit): .commits(before: before, limit: limit ?? Self.limit)
        case .difference(let from, let to, let limit):
            .differences(from: from.stored, to: to?.stored, limit: limit ?? Self.differences)
        }
    }

    package var restores: Bool { if case .restore = command { true } else { false } }
}

extension HistoryRequest.Moment {
    fileprivate var stored: HistoryFile.Moment {
        switch self {
        case .time(let time): .time(time)
        case .sequence(let sequence): .sequence(sequence)
        }
    }
}
