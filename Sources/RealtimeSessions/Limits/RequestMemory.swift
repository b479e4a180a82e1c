import Glibc
import Synchronization

/// The memory that all connections together may use for input: parts of messages and bodies while they come in, and the
/// values of requests until these are answered.
///
/// Two rules keep few clients from taking all of it. A client may have as much as it leaves free for others: one alone
/// half of the memory, two a third each, and so on. And claims of more than ``smallBytesMax`` leave a reserve of an
/// eighth, in which smaller claims are shared out by themselves, so large ones cannot stop them.
package final class RequestMemory: Sendable {
    /// Requests of fewer bytes are not counted.
    package static let bytesMin = 1024
    /// The same for parts of messages and bodies.
    package static let partBytesMin = 4 << 10
    /// Up to this size a claim may use the reserve.
    package static let smallBytesMax = 64 << 10
    /// From this size on the process is asked whether it can have so much at all.
    private static let provenBytesMin = 1 << 20

    /// The size unless the configuration sets one, of a process that may use so many bytes: a quarter, since up to
    /// three copies of a request exist at a time, at least 16 MiB and at most 1 GiB.
    package static func bytesMax(of processBytes: Int) -> Int { min(max(processBytes / 4, 16 << 20), 1 << 30) }

    package let bytesMax: Int
    private let reserve: Int
    private let used = Atomic<Int>(0)
    private let usedBySmall = Atomic<Int>(0)

    package init(bytesMax: Int) {
        self.bytesMax = bytesMax
        reserve = bytesMax / 8
    }

    /// Bytes that are in use.
    package var bytesUsed: Int { used.load(ordering: .relaxed) }

    /// Nil when there is no room. The memory counts as used as long as the claim lives.
    package func claim(_ bytes: Int, for client: Client) -> MemoryClaim? {
        let claim = MemoryClaim(of: self, for: client)
        return claim.resize(to: bytes) ? claim : nil
    }

    /// Whether a large claim of so many bytes would be granted now.
    package func hasRoom(_ bytes: Int, for client: Client) -> Bool {
        let own = client.requestBytes.load(ordering: .relaxed)
        return bytesUsed + own + 2 * bytes <= bytesMax - reserve
    }

    /// The most that one claim can ever have.
    package var claimBytesMax: Int { (bytesMax - reserve) / 2 }

    private static func small(_ size: Int) -> Int { size <= smallBytesMax ? size : 0 }

    /// A claim grows or shrinks. False, and no change, if there is no room.
    fileprivate func resize(_ old: Int, to new: Int, for client: Client) -> Bool {
        let isGranted = change(old, to: new, for: client)
        if isGranted || new <= old { return true }
        _ = change(new, to: old, for: client)
        return false
    }

    /// Counts the change, and answers whether it is within the limits.
    private func change(_ old: Int, to new: Int, for client: Client) -> Bool {
        let small = Self.small(new) - Self.small(old)
        let all = used.add(new - old, ordering: .relaxed).newValue
        let own = client.requestBytes.add(new - old, ordering: .relaxed).newValue
        let allSmall = usedBySmall.add(small, ordering: .relaxed).newValue
        let ownSmall = client.smallRequestBytes.add(small, ordering: .relaxed).newValue
        if new <= Self.smallBytesMax {
            return all + own <= bytesMax || all <= bytesMax && allSmall + ownSmall <= reserve
        }
        guard all + own <= bytesMax - reserve else { return false }
        return new < Self.provenBytesMin || new <= old || Self.isAvailable(new)
    }

    /// Whether the process can get so much memory in one piece: an array that cannot grow ends the process. Costs two
    /// system calls. Other threads may take it in between. Not with `malloc`: an optimised build leaves out a call
    /// whose memory is freed without use, and takes it to have succeeded.
    private static func isAvailable(_ bytes: Int) -> Bool {
        guard let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { return false }
        munmap(memory, bytes)
        return true
    }
}

/// Some of the ``RequestMemory``, given back when nothing refers to the claim any more.
package final class MemoryClaim: Sendable {
    private let memory: RequestMemory
    private let client: Client
    private let bytes = Atomic<Int>(0)

    fileprivate init(of memory: RequestMemory, for client: Client) {
        self.memory = memory
        self.client = client
    }

    deinit { _ = memory.resize(bytes.load(ordering: .relaxed), to: 0, for: client) }

    /// False, and no change, when there is no room. Called by one thread at a time.
    package func resize(to count: Int) -> Bool {
        guard memory.resize(bytes.load(ordering: .relaxed), to: count, for: client) else { return false }
        bytes.store(count, ordering: .relaxed)
        return true
    }
}
