import HearthJSONTree
import HearthRealtimeDatabase

/// The outcome of an operation of a test.
enum RulesTestOutcome {
    /// The answer, if it is a value.
    case allowed(CanonicalJSON?)
    /// `why` is a word for the reason: `rules`, a setting, or the client's status.
    case refused(why: String, text: String, retryAfter: Int64? = nil)

    init(_ reply: Reply) {
        switch reply {
        case .value(let value): self = .allowed(value)
        case .done, .listening, .listeningUnindexed, .listeningAt, .explained: self = .allowed(nil)
        case .failed(let failure): self = RulesTestOutcome(failure)
        }
    }

    init(_ failure: Failure) {
        let why =
            switch failure {
            case .denied: "rules"
            case .nothingThere: "nothing_there"
            case .stale: "stale"
            case .noIndex: "no_index"
            case .tooLarge: "too_big"
            case .unavailable: "unavailable"
            case .refused(let status, _): status.text.description
            case .notUnique, .refusedBySetting, .rateExceeded: failure.denialReason ?? ""
            }
        self = .refused(why: why, text: failure.message, retryAfter: failure.retryAfter)
    }

    init(_ refusal: TestedPast.Refusal) {
        switch refusal {
        case .notAdmitted(.denied):
            self = .refused(why: "rules", text: "no 'read' of a '.history' at the place or above it lets them")
        case .notAdmitted(let failure): self = RulesTestOutcome(failure)
        case .notKept: self = .refused(why: "not_found", text: "no history is kept of this place")
        case .tooOld(let time): self = .refused(why: "too_old", text: "the history begins at \(time)")
        }
    }

    var isAllowed: Bool { if case .allowed = self { true } else { false } }

    /// For people.
    var description: String {
        switch self {
        case .allowed: return "allowed"
        case .refused(let why, let text, _): return why == "rules" ? "denied" : "denied (\(why)): \(text)"
        }
    }
}
