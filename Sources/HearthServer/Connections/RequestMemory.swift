import Synchronization

/// The memory that all connections together may use for what peers send: large parts of messages and bodies while they
/// come in, and the values of requests until these are answered. What is small is not counted; its number is limited
/// elsewhere.
final class RequestMemory: Sendable {
    /// What holds fewer bytes is not worth counting.
    static let bytesMin = 1024
    /// The same for what comes in and is not complete.
    static let partBytesMin = 64 << 10

    private let bytesMax: Int
    private let used = Atomic<Int>(0)

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Bytes that are in use.
    var bytesUsed: Int { used.load(ordering: .relaxed) }

    /// Nil when there is no room. The memory counts as used as long as the claim lives.
    func claim(_ bytes: Int) -> MemoryClaim? {
        let claim = MemoryClaim(of: self)
        return claim.resize(to: bytes) ? claim : nil
    }

    fileprivate func take(_ bytes: Int) -> Bool {
        if used.add(bytes, ordering: .relaxed).newValue <= bytesMax { return true }
        give(bytes)
        return false
    }

    fileprivate func give(_ bytes: Int) { used.subtract(bytes, ordering: .relaxed) }
}

/// Some of the ``RequestMemory``, given back when nobody refers to the claim any more.
final class MemoryClaim: Sendable {
    private let memory: RequestMemory
    private let bytes = Atomic<Int>(0)

    fileprivate init(of memory: RequestMemory) { self.memory = memory }

    deinit { memory.give(bytes.load(ordering: .relaxed)) }

    /// False, and no change, when there is no room. Called by one thread at a time.
    func resize(to count: Int) -> Bool {
        let held = bytes.load(ordering: .relaxed)
        if count > held, !memory.take(count - held) { return false }
        if count < held { memory.give(held - count) }
        bytes.store(count, ordering: .relaxed)
        return true
    }
}
