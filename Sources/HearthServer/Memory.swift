import Glibc

/// The memory that this process may use.
enum Memory {
    /// That of the machine, or of the control group that the process is in, if that is less. At least 512 MiB.
    static let byteCount: Int = {
        let machine = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        let text = FileBytes.read("/sys/fs/cgroup/memory.max").map { String(decoding: $0, as: UTF8.self) }
        let group = text.flatMap { Int($0.filter(\.isNumber)) } ?? .max
        return max(min(machine, group), 512 << 20)
    }()
}
