package import HearthEtcdMessages

/// The lease of a node: all keys of the node end with it. A pure value: events and times come in, actions go out.
///
/// The time of a lease is counted from the moment at which its renewal was sent, by a monotonic clock that also runs
/// while the machine sleeps. So the node stops relying on the lease before etcd ends it, as long as both clocks run at
/// about the same rate.
package struct NodeLease: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        /// Answered by ``Event/granted(_:_:)``.
        case grant(Int64, seconds: Int64)
        /// Answered by ``Event/renewed(_:_:)``.
        case keepAlive(Int64)
        case revoke(Int64)
        /// Keys can be tied to this lease; nil: those of the last one are gone, or will be.
        case lease(Int64?)
    }

    package enum Event: Sendable {
        case tick
        case granted(Int64, Result<Int64, EtcdError>)
        case renewed(Int64, Result<Int64, EtcdError>)
        /// The process ends.
        case release
    }

    private enum State: Hashable {
        case none
        case granting(Int64, sentAt: Int64)
        case held(Int64, until: Int64, sentAt: Int64?)
        case released
    }

    package static let secondsDefault: Int64 = 3

    private let seconds: Int64
    private var state = State.none
    private var nextAttempt = Int64.min
    private var random: UInt64

    /// - parameter seed: a random number of the process, for the numbers of its leases.
    package init(seed: UInt64, seconds: Int64 = NodeLease.secondsDefault) {
        random = seed
        self.seconds = seconds
    }

    /// The lease, and until when the node may answer for what it gives it, in milliseconds: a sixth of the lease before
    /// its end, so that an answer can still arrive. Nil without a lease.
    package var validity: (lease: Int64, end: Int64)? {
        if case .held(let lease, let until, _) = state { (lease, until - margin) } else { nil }
    }

    private var margin: Int64 { seconds * 1000 / 6 }

    /// - parameter time: of the event, in milliseconds.
    package mutating func handle(_ event: Event, at time: Int64) -> [Action] {
        switch event {
        case .tick: return tick(time)
        case .granted(let lease, let result): return granted(lease, result, time)
        case .renewed(let lease, let result): return renewed(lease, result, time)
        case .release:
            defer { state = .released }
            if case .held(let lease, _, _) = state { return [.lease(nil), .revoke(lease)] }
            return []
        }
    }

    private mutating func tick(_ time: Int64) -> [Action] {
        switch state {
        case .released, .granting: return []
        case .none:
            guard time >= nextAttempt else { return [] }
            let lease = nextNumber()
            state = .granting(lease, sentAt: time)
            return [.grant(lease, seconds: seconds)]
        case .held(_, let until, _) where time >= until - margin: return end(time)
        case .held(let lease, let until, nil) where time >= nextAttempt:
            state = .held(lease, until: until, sentAt: time)
            return [.keepAlive(lease)]
        case .held: return []
        }
    }

    private mutating func granted(_ lease: Int64, _ result: Result<Int64, EtcdError>, _ time: Int64) -> [Action] {
        guard case .granting(lease, let sentAt) = state else { return [] }
        switch result {
        case .success(let seconds):
            return hold(lease, seconds, from: sentAt, time, isNew: true)
        case .failure(.leaseExists):
            // From an earlier attempt of this call, whose time is not known.
            state = .held(lease, until: sentAt, sentAt: nil)
            return end(time) + [.revoke(lease)]
        case .failure:
            state = .none
            nextAttempt = time + 200
            return []
        }
    }

    private mutating func renewed(_ lease: Int64, _ result: Result<Int64, EtcdError>, _ time: Int64) -> [Action] {
        guard case .held(lease, let until, let sentAt?) = state else { return [] }
        switch result {
        case .success(let seconds): return hold(lease, seconds, from: sentAt, time, isNew: false)
        case .failure(.leaseNotFound): return end(time)
        case .failure:
            state = .held(lease, until: until, sentAt: nil)
            nextAttempt = time + 200
            return time >= until - margin ? end(time) : []
        }
    }

    private mutating func hold(
        _ lease: Int64, _ granted: Int64, from sentAt: Int64, _ time: Int64, isNew: Bool
    ) -> [Action] {
        // etcd may grant more time than requested; counting the requested time is safe.
        let until = sentAt + min(granted, seconds) * 1000
        state = .held(lease, until: until, sentAt: nil)
        nextAttempt = sentAt + seconds * 1000 / 3
        if time >= until - margin { return end(time) }
        return isNew ? [.lease(lease)] : []
    }

    private mutating func end(_ time: Int64) -> [Action] {
        state = .none
        nextAttempt = time
        return [.lease(nil)]
    }

    private mutating func nextNumber() -> Int64 {
        random &+= SplitMix64.increment
        return max(1, Int64(SplitMix64.mix(random) >> 1))
    }
}
