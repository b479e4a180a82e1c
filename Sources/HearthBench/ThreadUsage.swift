import Glibc

/// The CPU time of the threads of a process, from `/proc`.
struct ThreadUsage {
    let process: Int32

    /// In seconds, by the names of the threads that run. Threads of one name count together.
    var cpuSeconds: [String: Double] {
        var seconds: [String: Double] = [:]
        guard let folder = opendir("/proc/\(process)/task") else { return seconds }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let thread = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            let place = "/proc/\(process)/task/\(thread)"
            // The time on a CPU, in nanoseconds, comes first.
            guard let text = SystemText.file("\(place)/schedstat").split(separator: " ").first,
                let nanoseconds = Double(text)
            else { continue }
            let name = SystemText.file("\(place)/comm").prefix { $0 != "\n" }
            seconds[String(name), default: 0] += nanoseconds / 1e9
        }
        return seconds
    }
}
