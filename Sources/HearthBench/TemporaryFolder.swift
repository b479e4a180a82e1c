import Glibc

/// A folder of its own that is removed with all its files; it holds no other folders.
final class TemporaryFolder {
    let path: String

    init(in parent: String) throws(BenchError) {
        guard let pattern = strdup(parent + "/hearth-bench.XXXXXX") else { throw BenchError("no memory") }
        defer { free(pattern) }
        guard mkdtemp(pattern) != nil else { throw BenchError("make a folder in \(parent)", code: -Int(errno)) }
        path = String(cString: pattern)
    }

    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { unlink("\(path)/\(name)") }
            }
            closedir(folder)
        }
        rmdir(path)
    }
}
