/// Why a rule cannot be evaluated: the whole rule is then false, also if the place is in an `||` (docs/rules.md 3.4).
enum Fault: Error, Hashable {
    case notText
    case notNumbers
    case notOrdered
    case notAdded
    case noParent
    case tooLong
    case tooCostly
    /// All that rules may look at for one decision has been looked at.
    case exhausted
    /// The evaluator has the reason. No rule's fault, so the operation has no verdict.
    case treeFailed
}

extension Fault: CustomStringConvertible {
    var description: String {
        switch self {
        case .notText: "not a string"
        case .notNumbers: "arithmetic with something that is not a number"
        case .notOrdered: "only two numbers or two strings have an order"
        case .notAdded: "+ takes numbers and strings only"
        case .noParent: "no parent"
        case .tooLong: "the string becomes longer than \(Evaluator.maximumTextByteCount) bytes"
        case .tooCostly: "the regular expression takes too long on this string"
        case .exhausted: "the rules take too long on this request"
        case .treeFailed: "the data cannot be read"
        }
    }
}
