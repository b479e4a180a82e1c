/// The memory of a connection's unanswered small requests. Each is too small to be counted separately; beyond a few
/// kilobytes, all of them together are counted.
struct SmallRequests {
    /// About the bytes of a request besides its values.
    private static let overhead = 256
    /// So much is not counted.
    private static let freeBytes = 16 << 10
    /// Claims grow in such steps.
    private static let stepBytes = 32 << 10

    private var bytes = 0
    private var claimed = 0
    private var claim: MemoryClaim?

    /// One more, with values of `valueBytes`. False, and not counted, when there is no room. The memory and the client
    /// are seldom needed, and to pass them costs as much as the rest.
    mutating func add(
        _ valueBytes: Int, _ memory: @autoclosure () -> RequestMemory, for client: @autoclosure () -> Client
    ) -> Bool {
        let total = bytes + valueBytes + Self.overhead
        if total > Self.freeBytes, total > claimed {
            let wanted = total + Self.stepBytes
            if let claim {
                guard claim.resize(to: wanted) else { return false }
            } else {
                claim = memory().claim(wanted, for: client())
                guard claim != nil else { return false }
            }
            claimed = wanted
        }
        bytes = total
        return true
    }

    /// Some of the requests are answered, of so many that were not. Each counts as the average of them.
    mutating func answered(_ answers: Int, of count: Int) {
        if bytes == 0 { return }
        bytes = count > answers ? bytes - bytes / count * answers : 0
        if claim != nil, bytes <= Self.freeBytes {
            claim = nil
            claimed = 0
        }
    }
}
