import Glibc
import HearthServer
import HearthSystem

/// How long the disk takes to make a few kilobytes durable.
struct SyncTimes {
    /// Of 50 syncs, the one in the middle, and the slowest but one.
    let usual: Duration
    let slow: Duration

    /// Writes a small file in the folder, and removes it. Nil if that fails.
    init?(in folder: String) {
        let path = "\(folder)/.doctor-\(getpid())"
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return nil }
        defer {
            close(file)
            unlink(path)
        }
        let block = [UInt8](repeating: 0, count: 4096)
        var times: [Duration] = []
        for _ in 0..<50 {
            let start = MonotonicTime.current
            guard write(file, block, block.count) == block.count, fsync(file) == 0 else { return nil }
            times.append(MonotonicTime.current - start)
        }
        times.sort()
        (usual, slow) = (times[times.count / 2], times[times.count - 2])
    }

    var text: String { "\(Self.text(usual)), at worst \(Self.text(slow))" }

    private static func text(_ time: Duration) -> String {
        let microseconds = time.components.seconds * 1_000_000 + time.components.attoseconds / 1_000_000_000_000
        return microseconds < 1000 ? "\(microseconds) us" : "\(Double(microseconds / 100) / 10) ms"
    }
}

/// File systems of other machines, on which SQLite's write-ahead files do not work.
enum NetworkFileSystem {
    private static let types: Set = ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"]

    /// Its type; nil for a file system of this machine.
    static func name(of path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        let mounts = FileBytes.read("/proc/self/mounts").map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard let type = type(of: String(cString: resolved), mounts: mounts), types.contains(type) else { return nil }
        return type
    }

    /// - parameter mounts: lines of proc(5): device, mount point with blanks as `\040`, type and more.
    static func type(of path: String, mounts: String) -> String? {
        var best: (length: Int, type: String)?
        for line in mounts.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 3 else { continue }
            let point = words[1].replacing("\\040", with: " ")
            let isAbove = path == point || path.hasPrefix(point == "/" ? "/" : point + "/")
            // The last of equal ones covers those before it.
            if isAbove, point.utf8.count >= best?.length ?? 0 { best = (point.utf8.count, String(words[2])) }
        }
        return best?.type
    }
}
