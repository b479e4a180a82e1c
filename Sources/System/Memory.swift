import CHearthLinux

/// The memory that this process may use.
package enum Memory {
    /// The least of the machine's memory, the limits of the control groups that the process is in, and the address
    /// space that it may have (`ulimit -v`), in bytes.
    package static let byteCount: Int = {
        let groups = FileBytes.read("/proc/self/cgroup").map { String(decoding: $0, as: UTF8.self) } ?? ""
        return min(
            Int(clamping: linux_physical_memory()), Int(clamping: linux_address_space_limit()),
            groupLimit(groups) { path in FileBytes.read(path).map { String(decoding: $0, as: UTF8.self) } })
    }()

    /// The least limit of a control group (version 2) and those that it is part of; `Int.max` if there is none.
    ///
    /// - parameters:
    ///   - groups: the text of `/proc/self/cgroup`.
    ///   - read: gives the text of a file.
    package static func groupLimit(_ groups: String, reading read: (String) -> String?) -> Int {
        guard let line = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::") }) else { return .max }
        var names = line.dropFirst(3).split(separator: "/")
        var limit = Int.max
        while true {
            let path = (["/sys/fs/cgroup"] + names.map(String.init) + ["memory.max"]).joined(separator: "/")
            // The text is a number, or `max`. The root of a machine has no such file; that of a container may.
            if let text = read(path), let bytes = Int(text.filter { !$0.isWhitespace }) { limit = min(limit, bytes) }
            if names.isEmpty { return limit }
            names.removeLast()
        }
    }
}
