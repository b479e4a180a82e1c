import CHearthLinux

/// When the allocator should return free memory to the system.
///
/// glibc keeps memory that was freed in the middle of an arena, so a process stays as large as it once was. Returning
/// the memory costs a walk over the free chunks, some milliseconds for a fragmented heap, and other threads may wait
/// for an arena meanwhile. So it is done soon after growth, and otherwise a few times a minute.
package struct FreeMemory: Sendable {
    /// With fewer resident bytes there is nothing worth returning.
    private static let residentMin: Int64 = 64 << 20
    /// Growth since the last return that is reason enough for another one.
    private static let growthMin: Int64 = 64 << 20
    private static let interval = Duration.seconds(10)

    private var last: (resident: Int64, time: MonotonicTime)?

    package init() {}

    /// Whether to return memory now, of so many resident bytes.
    package func isDue(resident: Int64, now: MonotonicTime) -> Bool {
        guard resident > Self.residentMin else { return false }
        guard let last else { return true }
        return resident - last.resident > Self.growthMin || now - last.time >= Self.interval
    }

    /// Memory was returned; so many bytes are still resident.
    package mutating func returned(resident: Int64, now: MonotonicTime) { last = (resident, now) }

    /// Makes the allocator keep little free memory: in large blocks, and at the ends of arenas. For the process, once.
    ///
    /// Less would be returned and asked for again with every large answer, which costs page faults.
    package static func keepLittle() { linux_keep_little_free_memory(2 << 20) }

    /// Returns whole free pages to the system. Not on a thread that somebody waits for.
    package static func giveBack() { linux_return_free_memory() }
}
