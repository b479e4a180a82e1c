/// Where results come from.
package struct Machine {
    package var facts: [(name: String, value: String)]

    package init(_ settings: BenchSettings) {
        let cpus = SystemText.file("/proc/cpuinfo")
        let model = SystemText.field("model name", of: cpus).map(String.init) ?? "unknown CPU"
        let count = cpus.split(separator: "\n").count { $0.hasPrefix("processor") }
        let memory = SystemText.field("MemTotal", of: SystemText.file("/proc/meminfo"))?.split(separator: " ").first
        let kernel = SystemText.file("/proc/sys/kernel/osrelease").split(separator: "\n").first ?? "unknown"
        facts = [
            ("cpu", model), ("cores", "\(count)"),
            ("memory", memory.flatMap { Int($0) }.map { Numeral.fixed(Double($0) / 1048576, 1) + " GiB" } ?? "unknown"),
            ("kernel", "Linux \(kernel)"), ("files", "\(settings.folder) on \(Self.fileSystem(of: settings.folder))"),
        ]
        if let pinned = settings.cpus {
            facts.append(("pinning", "targets on CPU \(pinned.target), generator on CPU \(pinned.load)"))
        }
        if let url = settings.url { facts.append(("server", url)) }
    }

    var text: String { facts.map { "\($0.name): \($0.value)" }.joined(separator: "; ") }

    /// The type of the file system that holds a folder. On tmpfs, syncs cost nothing.
    package static func fileSystem(of path: String, mounts: String = SystemText.file("/proc/self/mounts")) -> String {
        var best: (point: Substring, type: Substring) = ("", "unknown")
        for line in mounts.split(separator: "\n") {
            // device, mount point, type, options
            let fields = line.split(separator: " ")
            guard fields.count > 2, fields[1].count >= best.point.count else { continue }
            let isAbove = fields[1] == "/" || path == fields[1] || path.hasPrefix(fields[1] + "/")
            if isAbove { best = (fields[1], fields[2]) }
        }
        return String(best.type)
    }
}
