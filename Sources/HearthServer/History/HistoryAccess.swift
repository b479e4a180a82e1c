import HearthDatabaseHost
import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors
import HearthTreeStorage
import HearthWireProtocol

/// Why the past is not told.
enum HistoryRefusal: Error {
    case denied
    case history(HistoryError)

    var message: String {
        switch self {
        case .denied: "Permission denied"
        case .history(let error): error.message
        }
    }
}

extension Services {
    /// Answers on another thread. Whoever may read the present may not read the past for that: it takes an
    /// administrator, or a setting.
    func askHistory(
        _ request: HistoryRequest, by principal: Principal, of index: UInt32,
        then: @escaping @Sendable (Result<CanonicalJSON, HistoryRefusal>) -> Void
    ) {
        let (keeper, name) = (databases.keeper, directory.name(of: index))
        let ask: @Sendable () -> Void = {
            keeper.ask(request.question, at: request.path, of: name) { then($0.mapError(HistoryRefusal.history)) }
        }
        if principal.isAdministrator { return ask() }
        databases.ask { databases in
            switch databases.mayReadHistory(of: request.path, by: principal, in: index) {
            case true?: ask()
            case false?: then(.failure(.denied))
            case nil: then(.failure(.history(.storage(.overloaded("the database is being opened: try again")))))
            }
        }
    }
}

extension HistoryRequest {
    /// Entries of one answer, if nobody says how many.
    private static let limit = 20
    private static let differences = 1000

    /// What has to be found out.
    fileprivate var question: PastQuestion {
        switch command {
        case .get(let moment), .restore(let moment): .value(moment.stored)
        case .log(let before, let limit): .commits(before: before, limit: limit ?? Self.limit)
        case .difference(let from, let to, let limit):
            .differences(from: from.stored, to: to?.stored, limit: limit ?? Self.differences)
        }
    }

    var restores: Bool { if case .restore = command { true } else { false } }
}

extension HistoryRequest.Moment {
    fileprivate var stored: HistoryFile.Moment {
        switch self {
        case .time(let time): .time(time)
        case .sequence(let sequence): .sequence(sequence)
        }
    }
}
