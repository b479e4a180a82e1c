/// When one session reads its client's messages: not while too many are in flight, while the client's credential
/// is being looked up, while a large message is being parsed on another thread, or while an earlier state is being read
/// to restore it. So requests reach the database in the order in which they were sent.
///
/// A pure value. The session stops and continues reading by its decisions.
package struct SessionOrder {
    /// The pending result that reading waits for.
    package enum Awaited: Hashable, Sendable {
        case nothing
        /// Who the client is.
        case caller
        /// The contents of a large message.
        case message
        /// An earlier state to be restored.
        case past
    }

    /// Unanswered requests.
    package private(set) var requests: RequestsInFlight
    private var awaited = Awaited.nothing
    /// Nothing more is read for the time being.
    package private(set) var isPaused = false
    package private(set) var hasEnded = false

    package init(_ requests: RequestsInFlight) { self.requests = requests }

    /// No user is signed in, so less may be in flight.
    package var isAnonymous: Bool {
        get { requests.isAnonymous }
        set { requests.isAnonymous = newValue }
    }

    /// A request was read that will be answered.
    ///
    /// - parameter bytes: those of its values.
    /// - returns: whether reading has to stop now.
    package mutating func add(bytes: Int, reads: Bool) -> Bool {
        requests.add(bytes: bytes, reads: reads)
        return requests.isFull && pause()
    }

    /// Nothing more is read until ``finishWaiting()``.
    ///
    /// - returns: whether reading has to stop now.
    package mutating func wait(for awaited: Awaited) -> Bool {
        assert(self.awaited == .nothing, "nothing is read while something is waited for")
        self.awaited = awaited
        return pause()
    }

    private mutating func pause() -> Bool {
        defer { isPaused = true }
        return !isPaused
    }

    /// The pending result is known.
    package mutating func finishWaiting() { awaited = .nothing }

    /// Requests were answered.
    ///
    /// - parameter bytes: those of the answers.
    package mutating func answered(_ count: Int, bytes: Int) { requests.answered(count, bytes: bytes) }

    /// Whether reading continues now: enough is answered, no result is pending, and the client reads the answers.
    package mutating func goOn(isWritable: Bool) -> Bool {
        guard isPaused, awaited == .nothing, requests.hasRoom, isWritable else { return false }
        isPaused = false
        return true
    }

    /// The session ends.
    ///
    /// - returns: whether the database hears of it now: else a message that is being parsed has its
    ///   turn before.
    package mutating func end() -> Bool {
        assert(!hasEnded, "a session ends once")
        hasEnded = true
        return awaited != .message
    }
}
