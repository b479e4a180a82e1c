import HearthEventLoop
import HearthSystem

/// A message of which a part has come: memory for the part is claimed, and the rest has to come at a least pace.
///
/// Belongs to one loop. Its owner must call ``end()``.
final class PartialMessage {
    private let memory: RequestMemory
    private let client: Client
    private let loop: EventLoop
    private var claim: MemoryClaim?
    private var pace: Pace
    private var timer: Timer?

    /// - parameters:
    ///   - rateMin: bytes per second, if it is another rate than that of the limits.
    ///   - mayCome: the peer is read at the moment; if not, it is given more time.
    ///   - fellBehind: called when the peer has been too slow.
    init(
        of client: Client, on loop: EventLoop, in memory: RequestMemory, _ limits: ConnectionLimits, rateMin: Int?,
        mayCome: @escaping () -> Bool, fellBehind: @escaping () -> Void
    ) {
        self.memory = memory
        self.client = client
        self.loop = loop
        pace = Pace(limits, rateMin: rateMin, now: loop.now)
        let timer = loop.makeTimer { [unowned self] in
            if !mayCome() { pace.restart(now: loop.now) }
            if pace.deadline > loop.now { arm() } else { fellBehind() }
        }
        self.timer = timer
        arm()
    }

    private func arm() { timer?.arm(after: pace.deadline - loop.now) }

    /// More has come: the part takes so much memory now. False when there is no room for it.
    func received(_ bytes: Int, holding held: Int) -> Bool {
        pace.received(bytes, now: loop.now)
        if let claim { return claim.resize(to: held) }
        claim = memory.claim(held, for: client)
        return claim != nil
    }

    /// The message is complete or abandoned.
    func end() {
        timer?.cancel()
        timer = nil
        claim = nil
    }
}
