import Glibc

/// A moment of the monotonic clock, in nanoseconds.
enum Clock {
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Milliseconds since 1970.
    static var wall: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    static func seconds(since start: Int64) -> Double { Double(now - start) / 1e9 }
}

/// The past and present resource usage of a process, from `/proc`.
struct ProcessUsage {
    let process: Int32

    /// CPU time of all its threads, in seconds, in steps of the kernel's tick (10 ms).
    var cpuSeconds: Double {
        let text = SystemText.file("/proc/\(process)/stat")
        // The second field is the name in parentheses, which may hold anything; user and system time are fields 14 and
        // 15.
        guard let name = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: name)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resident memory, in KiB.
    var residentKiB: Int {
        let value = SystemText.field("VmRSS", of: SystemText.file("/proc/\(process)/status"))
        return value.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) } ?? 0
    }
}

extension ProcessUsage {
    /// Resident memory once it has been the same for 300 ms, at the latest after 5 s.
    func settledKiB() -> Int {
        var last = residentKiB
        var quiet = 0
        for _ in 0..<50 where quiet < 3 {
            usleep(100_000)
            let now = residentKiB
            quiet = now == last ? quiet + 1 : 0
            last = now
        }
        return last
    }

    /// Waits until the process has used less than 5 % of a CPU for 400 ms, at most 30 s.
    func waitUntilIdle() {
        var last = cpuSeconds
        for _ in 0..<75 {
            usleep(400_000)
            let now = cpuSeconds
            if now - last < 0.02 { return }
            last = now
        }
    }
}

/// How long one CPU was busy with anything, in seconds since the system's start.
struct CPUUsage {
    let cpu: Int

    var busySeconds: Double {
        let line = SystemText.file("/proc/stat").split(separator: "\n").first { $0.hasPrefix("cpu\(cpu) ") }
        // user, nice, system, idle, iowait, irq, softirq, steal
        let fields = (line ?? "").split(separator: " ").dropFirst().prefix(8).map { Double($0) ?? 0 }
        guard fields.count == 8 else { return 0 }
        return (fields.reduce(0, +) - fields[3] - fields[4]) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// Measures the cost of a load for its target and the generator, and whether others used the target's CPU meanwhile.
struct UsageProbe {
    private let target: ProcessUsage?
    private let load = ProcessUsage(process: getpid())
    private let cpu: CPUUsage?
    private var start: (time: Int64, target: Double, load: Double, cpu: Double) = (0, 0, 0, 0)
    private var nextSample: Int64 = 0
    private(set) var memoryKiB: [Int] = []
    /// Between two looks at the target's memory, in nanoseconds.
    var sampleInterval: Int64 = 1_000_000_000

    init(_ target: Target) {
        self.target = target.process.map { ProcessUsage(process: $0) }
        cpu = target.cpu.map { CPUUsage(cpu: $0) }
    }

    mutating func begin(at now: Int64) {
        start = (now, target?.cpuSeconds ?? 0, load.cpuSeconds, cpu?.busySeconds ?? 0)
        memoryKiB = []
        nextSample = now
    }

    /// Looks at the target's memory when it is time to.
    mutating func sample(at now: Int64) {
        guard let target, now >= nextSample else { return }
        memoryKiB.append(target.residentKiB)
        nextSample = now + sampleInterval
    }

    /// The measurement since `begin`.
    func measurement(operations: Int, latency: LatencyHistogram) -> Measurement {
        let seconds = Clock.seconds(since: start.time)
        let targetCPU = target.map { $0.cpuSeconds - start.target }
        var foreignShare: Double?
        if let cpu, let targetCPU, seconds > 0 {
            foreignShare = max(0, cpu.busySeconds - start.cpu - targetCPU) / seconds
        }
        return Measurement(
            operations: operations, seconds: seconds, latency: latency, targetCPUSeconds: targetCPU,
            loadCPUSeconds: load.cpuSeconds - start.load, foreignShare: foreignShare, memoryKiB: memoryKiB)
    }
}
