package import HearthEtcdMessages

/// Decides what follows a failed attempt of a call: another member, a pause, or the end.
///
/// A call that must not be made twice is repeated only after failures without effect. If any attempt may have been
/// applied, the final error says so, regardless of the others.
package struct MemberAttempts: Sendable {
    package enum Step: Hashable, Sendable {
        /// Try the next member, after a pause.
        case nextMember(afterMilliseconds: Int)
        case fail(EtcdError)
    }

    private let memberCount: Int
    private let isRepeatable: Bool
    private var attempts = 0
    private var unknown: EtcdError?

    /// Members that answered at once that they can do nothing are not asked again before this.
    package static let pauseMilliseconds = 50

    package init(memberCount: Int, isRepeatable: Bool) {
        self.memberCount = memberCount
        self.isRepeatable = isRepeatable
    }

    /// - parameter hasTime: there is time for another attempt.
    package mutating func failed(_ error: EtcdError, hasTime: Bool) -> Step {
        attempts += 1
        if error.mayHaveBeenApplied { unknown = unknown ?? error }
        guard error.isOfOneMember || error == .overloaded else { return .fail(settled(error)) }
        guard hasTime, isRepeatable || !error.mayHaveBeenApplied else { return .fail(unknown ?? error) }
        return .nextMember(afterMilliseconds: attempts.isMultiple(of: memberCount) ? Self.pauseMilliseconds : 0)
    }

    /// A definite error after an attempt of unknown outcome may be that attempt's consequence.
    private func settled(_ error: EtcdError) -> EtcdError { isRepeatable ? error : unknown ?? error }
}
