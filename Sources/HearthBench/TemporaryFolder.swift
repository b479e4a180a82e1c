import Glibc

/// A folder of its own that is removed with all that is in it.
final class TemporaryFolder {
    let path: String

    init(in parent: String) throws(BenchError) {
        guard let pattern = strdup(parent + "/hearth-bench.XXXXXX") else { throw BenchError("no memory") }
        defer { free(pattern) }
        guard mkdtemp(pattern) != nil else { throw BenchError("make a folder in \(parent)", code: -Int(errno)) }
        path = String(cString: pattern)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            // A folder is not a file that could be unlinked.
            if unlink("\(path)/\(name)") != 0 { remove("\(path)/\(name)") }
        }
        closedir(folder)
        rmdir(path)
    }
}
